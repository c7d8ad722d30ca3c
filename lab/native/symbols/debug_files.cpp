#include "symbols/debug_files.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gelf.h>
#include <libelf.h>
#include <map>
#include <memory>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <elfutils/libdwelf.h>

#include "files/file.h"
#include "sandbox/sandbox.h"
#include "symbols/symbols.h"

namespace reap::native {
namespace {

constexpr const char *kServers = "DEBUGINFOD_URLS";

// elfutils would ask the servers that this variable names, which are taken out of it.
const std::string &servers_taken() {
    static std::once_flag once;
    static std::string servers;
    std::call_once(once, [] {
        if (const char *named = ::getenv(kServers)) servers = named;
        ::unsetenv(kServers);
    });
    return servers;
}

// Absolute folders, and how elfutils takes them; null: its own default.
std::vector<std::string> &folders() {
    static std::vector<std::string> value = {"/usr/lib/debug"};
    return value;
}
std::string searched;
char *debug_path = nullptr;

constexpr std::array<uint32_t, 256> crc_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < table.size(); ++byte) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0xedb88320 : value >> 1;
        table[byte] = value;
    }
    return table;
}

// The CRC of a whole file, as a .gnu_debuglink has it.
uint32_t crc_of(int file) {
    static constexpr std::array<uint32_t, 256> table = crc_table();
    std::vector<unsigned char> buffer(1 << 16);
    uint32_t value = ~uint32_t{0};
    off_t at = 0;
    for (ssize_t got = 0; (got = ::pread(file, buffer.data(), buffer.size(), at)) > 0; at += got) {
        for (ssize_t i = 0; i < got; ++i)
            value = table[(value ^ buffer[static_cast<size_t>(i)]) & 255] ^ value >> 8;
    }
    return ~value;
}

std::string bytes(const void *begin, ssize_t length) {
    return length > 0 ? std::string(static_cast<const char *>(begin), static_cast<size_t>(length)) : "";
}

std::string build_id_of(int file) {
    elf_version(EV_CURRENT);
    const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(file, ELF_C_READ, nullptr), elf_end);
    const void *bits = nullptr;
    const ssize_t length = elf ? dwelf_elf_gnu_build_id(elf.get(), &bits) : 0;
    return bytes(bits, length);
}

std::string build_id_of(Dwfl_Module *module) {
    const unsigned char *bits = nullptr;
    GElf_Addr address = 0;
    const int length = dwfl_module_build_id(module, &bits, &address);
    return bytes(bits, length);
}

std::vector<std::string> candidates(const std::string &file, const char *link) {
    const std::string base = file.substr(file.rfind('/') + 1);
    const std::string folder = file.substr(0, file.size() - base.size());
    const std::string below_root = folder.starts_with('/') ? folder : '/' + folder;
    const std::string name = link != nullptr ? link : base + ".debug";
    if (name.starts_with('/')) return {name};
    std::vector<std::string> found = {folder + name, folder + ".debug/" + name};
    for (const std::string &root : folders()) {
        for (const std::string &below : {below_root, std::string("/")})
            found.push_back(std::string(root).append(below).append(name));
    }
    return found;
}

bool is_same(const Descriptor &one, int other) {
    struct stat first{};
    struct stat second{};
    return ::fstat(one.get(), &first) == 0 && ::fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

// Build id of the file that the module's debug information shares with others; empty for none.
std::string shared_id(Dwfl_Module *module) {
    Dwarf_Addr bias = 0;
    Dwarf *const loaded = dwfl_module_getdwarf(module, &bias);
    const char *name = nullptr;
    const void *bits = nullptr;
    const ssize_t length = loaded != nullptr ? dwelf_dwarf_gnu_debugaltlink(loaded, &name, &bits) : 0;
    return bytes(bits, length);
}

thread_local std::map<std::string, std::vector<std::string>> refused; // by the module that gives their name

char no_shared_file; // its address stands for that in a module's own data

int find(Dwfl_Module *module, void **own, const char *module_name, Dwarf_Addr /*base*/, const char *file,
         const char *link, GElf_Word crc, char **found) {
    const int by_id = dwfl_build_id_find_debuginfo(module, nullptr, nullptr, 0, nullptr, nullptr, 0, found);
    if (by_id >= 0 || file == nullptr) return by_id;
    // A file that several programs share (.gnu_debugaltlink) has no CRC, and a build id of its own.
    const bool shared = link != nullptr && crc == 0;
    const std::string id = shared ? shared_id(module) : build_id_of(module);
    const Descriptor program(open_for_reader(file));
    for (const std::string &name : candidates(file, link)) {
        const int opened = open_for_reader(name);
        if (opened < 0) continue;
        const bool fits = id.empty() ? crc == 0 || crc_of(opened) == crc : build_id_of(opened) == id;
        const bool is_other = !is_same(program, opened);
        if (fits && is_other) {
            *found = ::strdup(name.c_str());
            return opened;
        }
        if (is_other) refused[module_name].push_back(name);
        ::close(opened);
    }
    if (shared) *own = &no_shared_file;
    errno = 0; // it was looked for
    return -1;
}

} // namespace

const Dwfl_Callbacks kFindDebugFiles = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = find,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path,
};

std::vector<std::string> refused_debug_files(const std::string &module) {
    return std::exchange(refused[module], {});
}

void load_debug_file(Dwfl_Module *module) {
    Dwarf_Addr bias = 0;
    Dwarf *const loaded = module != nullptr ? dwfl_module_getdwarf(module, &bias) : nullptr;
    void **own = nullptr;
    if (loaded == nullptr ||
        dwfl_module_info(module, &own, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == nullptr)
        return;
    // libdw itself marks a file so that it has looked for in vain: what refers into it then has no name.
    if (*own == &no_shared_file)
        dwarf_setalt(loaded, reinterpret_cast<Dwarf *>(-1)); // NOLINT(performance-no-int-to-ptr)
}

int open_by_build_id(const std::string &name, const std::string &build_id) {
    const std::unique_ptr<Dwfl, decltype(&dwfl_end)> dwfl(dwfl_begin(&kFindDebugFiles), dwfl_end);
    if (!dwfl || build_id.empty()) return -1;
    dwfl_report_begin(dwfl.get());
    // Where it lies does not matter: it is never looked into.
    Dwfl_Module *const wanted = dwfl_report_module(dwfl.get(), name.c_str(), 4096, 8192);
    const auto *bits = reinterpret_cast<const unsigned char *>(build_id.data());
    if (wanted == nullptr || dwfl_module_report_build_id(wanted, bits, build_id.size(), 0) != 0) return -1;
    dwfl_report_end(dwfl.get(), nullptr, nullptr);
    char *found = nullptr;
    int descriptor =
        dwfl_standard_find_debuginfo(wanted, nullptr, name.c_str(), 0, nullptr, nullptr, 0, &found);
    Elf *elf = nullptr;
    if (descriptor < 0) descriptor = dwfl_build_id_find_elf(wanted, nullptr, name.c_str(), 0, &found, &elf);
    std::free(found);
    if (elf != nullptr) elf_end(elf);
    return descriptor;
}

void search_debug_files(const std::vector<std::string> &more) {
    if (more.empty()) return;
    folders() = {"/usr/lib/debug"};
    folders().insert(folders().end(), more.begin(), more.end());
    searched = ":.debug";
    for (const std::string &folder : folders()) searched += ':' + folder;
    debug_path = searched.data();
}

void forbid_network() { (void)servers_taken(); }

NetworkAllowed::NetworkAllowed() {
    const std::string &servers = servers_taken();
    if (!servers.empty()) ::setenv(kServers, servers.c_str(), 1);
}

NetworkAllowed::~NetworkAllowed() { ::unsetenv(kServers); }

} // namespace reap::native
