#include "foreign.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

namespace reap::preload {
namespace {

constexpr int kMaxInterpreters = 5; // as many as the kernel follows
constexpr size_t kHead = 4096;
#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr const char *kLoader = "ld-linux-x86-64.so.2";
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr const char *kLoader = "ld-linux-aarch64.so.1";
#endif
constexpr size_t kMaxDynamic = 64;
constexpr const char *kForeignLoader = "ld-musl";
constexpr const char *kLists[] = {"--list",    "--verify",        "--help",
                                  "--version", "--list-tunables", "--list-diagnostics"};
constexpr const char *kWithValue[] = {"--library-path",     "--inhibit-rpath",        "--audit",
                                      "--preload",          "--glibc-hwcaps-prepend", "--argv0",
                                      "--glibc-hwcaps-mask"};
constexpr const char *kRuntimes[] = {"libasan.so",      "libhwasan.so",     "liblsan.so",
                                     "libtsan.so",      "libclang_rt.asan", "libclang_rt.hwasan",
                                     "libclang_rt.tsan"};

// The program header of this number, if it is one and lies within `length` bytes.
bool program_header(const char *head, size_t length, unsigned number, Elf64_Phdr &out) noexcept {
    Elf64_Ehdr header{};
    memcpy(&header, head, sizeof header);
    const uint64_t at = header.e_phoff + uint64_t{number} * header.e_phentsize;
    if (number >= header.e_phnum || at + sizeof out > length) return false;
    memcpy(&out, head + at, sizeof out);
    return true;
}

// The word after #! at the start of a script, null-terminated; null if the file is not a script.
const char *interpreter_of(char *head, size_t length) noexcept {
    if (length < 3 || head[0] != '#' || head[1] != '!') return nullptr;
    head[length] = '\0';
    char *begin = head + 2 + strspn(head + 2, " \t");
    begin[strcspn(begin, " \t\n")] = '\0';
    return *begin != '\0' ? begin : nullptr;
}

// Where an address of the file's memory image is in the file; 0 if it is nowhere.
uint64_t offset_of(const char *head, size_t length, uint64_t address) noexcept {
    Elf64_Phdr part{};
    for (unsigned i = 0; program_header(head, length, i, part); ++i) {
        if (part.p_type == PT_LOAD && address - part.p_vaddr < part.p_filesz)
            return address - part.p_vaddr + part.p_offset;
    }
    return 0;
}

// Whether a program needs, before all other libraries, the runtime of a sanitizer that must be the first.
bool sanitized(int file, const char *head, size_t length) noexcept {
    Elf64_Phdr dynamic{};
    for (unsigned i = 0; dynamic.p_type != PT_DYNAMIC; ++i) {
        if (!program_header(head, length, i, dynamic)) return false;
    }
    Elf64_Dyn entries[kMaxDynamic] = {};
    const size_t most = dynamic.p_filesz < sizeof entries ? dynamic.p_filesz : sizeof entries;
    if (syscall(SYS_pread64, file, entries, most, dynamic.p_offset) <= 0) return false;
    uint64_t name = 0;
    uint64_t names = 0;
    bool needs = false;
    for (const Elf64_Dyn &entry : entries) {
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_STRTAB) names = entry.d_un.d_ptr;
        if (entry.d_tag == DT_NEEDED && !needs) {
            needs = true;
            name = entry.d_un.d_val;
        }
    }
    const uint64_t at = needs ? offset_of(head, length, names) : 0;
    char library[32] = {};
    if (at == 0 || syscall(SYS_pread64, file, library, sizeof library - 1, at + name) <= 0) return false;
    for (const char *runtime : kRuntimes) {
        if (strncmp(library, runtime, strlen(runtime)) == 0) return true;
    }
    return false;
}

const char *base_name(const char *path) noexcept {
    const char *slash = strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

template <size_t count>
bool is_one_of(const char *word, const char *const (&words)[count]) noexcept {
    for (const char *each : words) {
        if (strcmp(word, each) == 0) return true;
    }
    return false;
}

// What the loader runs when it is executed as a program with these arguments; null if it runs nothing.
const char *program_of_loader(char *const *argv) noexcept {
    if (argv == nullptr || argv[0] == nullptr) return nullptr;
    for (++argv; *argv != nullptr && strncmp(*argv, "--", 2) == 0; ++argv) {
        if (is_one_of(*argv, kLists)) return nullptr;
        if (is_one_of(*argv, kWithValue) && argv[1] != nullptr) ++argv;
    }
    return *argv;
}

// Classifies a program for this CPU architecture by the loader that it requests.
Kind kind_by_loader(int file, const char *head, size_t length) noexcept {
    Elf64_Ehdr header{};
    memcpy(&header, head, sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr part{};
        if (!program_header(head, length, i, part)) return Kind::Ours; // unusual: leave it alone
        if (part.p_type != PT_INTERP) continue;
        char loader[256];
        const size_t most = part.p_filesz < sizeof loader - 1 ? part.p_filesz : sizeof loader - 1;
        const long got = syscall(SYS_pread64, file, loader, most, part.p_offset);
        if (got <= 0) return Kind::Ours;
        loader[got] = '\0';
        if (strcmp(base_name(loader), kLoader) != 0) return Kind::Foreign;
        return sanitized(file, head, length) ? Kind::Sanitized : Kind::Ours;
    }
    return Kind::Static;
}

} // namespace

Kind kind_of(int directory, const char *path, char *const *argv) noexcept {
    const ErrnoGuard keep;
    const char *name = base_name(path);
    if (strncmp(name, kForeignLoader, strlen(kForeignLoader)) == 0) return Kind::Foreign;
    if (strcmp(name, kLoader) == 0) {
        path = program_of_loader(argv);
        if (path == nullptr) return Kind::Lists;
        directory = AT_FDCWD;
    }
    char head[kHead + 1];
    for (int i = 0; i < kMaxInterpreters; ++i) {
        const long file = syscall(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file < 0) return Kind::Ours;
        const auto number = static_cast<int>(file);
        const long got = syscall(SYS_pread64, number, head, kHead, 0L);
        const size_t length = got > 0 ? static_cast<size_t>(got) : 0;
        Kind kind = Kind::Ours;
        const bool elf = length >= sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0;
        if (elf) {
            Elf64_Ehdr header{};
            memcpy(&header, head, sizeof header);
            const bool here = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == kMachine;
            kind = here ? kind_by_loader(number, head, length) : Kind::Foreign;
        }
        close_quietly(number);
        const char *next = elf ? nullptr : interpreter_of(head, length);
        if (next == nullptr) return kind;
        path = next; // points into `head`, which is overwritten only after the open
        directory = AT_FDCWD;
    }
    return Kind::Ours;
}

} // namespace reap::preload
