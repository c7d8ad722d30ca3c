#include "symbols/symbols.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <map>
#include <mutex>
#include <set>
#include <unistd.h>
#include <unordered_map>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <libiberty/demangle.h>

#include "files/regular.h"
#include "symbols/debug_files.h"
#include "symbols/scopes.h"
#include "symbols/units.h"

namespace reap::native {
namespace {

// Of Rust (both manglings), D and C++. That of older Rust is C++'s, with a hash behind the name.
std::string demangle(const char *name) {
    if (name == nullptr) return {};
    if (*name != '_') return name;
    const auto plain = [](char *made) {
        return std::unique_ptr<char, decltype(&std::free)>(made, std::free);
    };
    if (const auto rust = plain(rust_demangle(name, 0))) return rust.get();
    if (const auto d = plain(dlang_demangle(name, 0))) return d.get();
    int status = 0;
    const auto cxx = plain(abi::__cxa_demangle(name, nullptr, nullptr, &status));
    return status == 0 && cxx ? cxx.get() : name;
}

constexpr const char *kServers = "DEBUGINFOD_URLS";

// elfutils would ask the servers that this variable names. Returns them.
const std::string &forbid_network() {
    static std::once_flag once;
    static std::string servers;
    std::call_once(once, [] {
        if (const char *named = ::getenv(kServers)) servers = named;
        ::unsetenv(kServers);
    });
    return servers;
}

// The functions of malloc.c that every glibc exports.
const std::set<std::string> &malloc_exports() {
    static const std::set<std::string> names = {
        "malloc",
        "free",
        "calloc",
        "realloc",
        "memalign",
        "aligned_alloc",
        "valloc",
        "pvalloc",
        "malloc_trim",
        "mallinfo",
        "malloc_usable_size",
        "mallinfo2",
        "malloc_stats",
        "posix_memalign",
        "malloc_info",
        "mallopt",
        "cfree",
    };
    return names;
}

} // namespace

struct Symbolizer::Files {
    struct Symbol {
        std::string name;
        uint64_t begin;
        uint64_t end;
    };
    struct Segment {
        uint64_t offset;
        uint64_t address;
        uint64_t size;
        bool is_code;
    };
    struct File {
        Dwfl *dwfl = nullptr;
        Dwfl_Module *module = nullptr;
        bool tried = false;
        bool listed = false;
        bool linked = false;
        bool segmented = false;
        std::vector<Segment> segments;
        std::map<uint64_t, std::string> imports; // by the slot of the global offset table
        std::vector<Symbol> symbols;
        Scopes scopes;
        Units units;
        std::unordered_map<uint64_t, std::vector<SourceFrame>> resolved;
        ~File() {
            if (dwfl != nullptr) dwfl_end(dwfl);
        }
    };
    std::map<std::string, File> open;

    Dwfl_Module *module(const std::string &path) {
        File &file = open[path];
        if (!file.tried) report(file, path, open_regular(path));
        return file.module;
    }

    // Takes the descriptor.
    static void report(File &file, const std::string &path, int descriptor) {
        file.tried = true;
        file.dwfl = dwfl_begin(&kFindDebugFiles);
        if (file.dwfl != nullptr && descriptor >= 0) {
            dwfl_report_begin(file.dwfl);
            // Base 0: addresses are then those of the file.
            file.module = dwfl_report_elf(file.dwfl, path.c_str(), path.c_str(), descriptor, 0, false);
            dwfl_report_end(file.dwfl, nullptr, nullptr);
        }
        if (file.module == nullptr && descriptor >= 0) ::close(descriptor);
    }

    // Function symbols, by address. Exported ones alone where there is no debug file.
    const std::vector<Symbol> &symbols(const std::string &path) {
        Dwfl_Module *file = module(path);
        File &held = open[path];
        std::vector<Symbol> &found = held.symbols;
        if (held.listed) return found;
        held.listed = true;
        each_symbol(file, [&found](std::string &&name, unsigned type, uint64_t address, uint64_t size) {
            if (type == STT_FUNC || type == STT_GNU_IFUNC)
                found.push_back({std::move(name), address, address + size});
        });
        std::sort(found.begin(), found.end(),
                  [](const Symbol &a, const Symbol &b) { return a.begin < b.begin; });
        return found;
    }

    // Calls `take(name, type, address, size)` for each that the file defines.
    template <class Take>
    static void each_symbol(Dwfl_Module *file, Take take) {
        const int count = file != nullptr ? dwfl_module_getsymtab(file) : 0;
        for (int i = 1; i < count; ++i) {
            GElf_Sym symbol;
            GElf_Addr address = 0;
            const char *name = dwfl_module_getsym_info(file, i, &symbol, &address, nullptr, nullptr, nullptr);
            if (name == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
            std::string plain(name);
            plain.resize(std::min(plain.find('@'), plain.size())); // dynamic symbols carry their version
            take(std::move(plain), GELF_ST_TYPE(symbol.st_info), address, symbol.st_size);
        }
    }

    const std::vector<Segment> &segments(const std::string &path) {
        Dwfl_Module *file = module(path);
        File &held = open[path];
        if (held.segmented) return held.segments;
        held.segmented = true;
        GElf_Addr bias = 0;
        Elf *elf = file != nullptr ? dwfl_module_getelf(file, &bias) : nullptr;
        size_t count = 0;
        if (elf == nullptr || elf_getphdrnum(elf, &count) != 0) return held.segments;
        for (size_t i = 0; i < count; ++i) {
            GElf_Phdr header;
            if (gelf_getphdr(elf, static_cast<int>(i), &header) != nullptr && header.p_type == PT_LOAD)
                held.segments.push_back(
                    {header.p_offset, header.p_vaddr, header.p_filesz, (header.p_flags & PF_X) != 0});
        }
        return held.segments;
    }

    const std::map<uint64_t, std::string> &imports(const std::string &path) {
        Dwfl_Module *file = module(path);
        File &held = open[path];
        if (held.linked) return held.imports;
        held.linked = true;
        GElf_Addr bias = 0;
        Elf *elf = file != nullptr ? dwfl_module_getelf(file, &bias) : nullptr;
        for (Elf_Scn *section = nullptr;
             elf != nullptr && (section = elf_nextscn(elf, section)) != nullptr;) {
            GElf_Shdr header;
            if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_RELA &&
                header.sh_entsize != 0)
                add_imports(elf, section, header, held.imports);
        }
        return held.imports;
    }

  private:
    static void add_imports(Elf *elf, Elf_Scn *section, const GElf_Shdr &header,
                            std::map<uint64_t, std::string> &out) {
        Elf_Scn *table = elf_getscn(elf, header.sh_link);
        GElf_Shdr names;
        if (table == nullptr || gelf_getshdr(table, &names) == nullptr || names.sh_type != SHT_DYNSYM) return;
        Elf_Data *relocations = elf_getdata(section, nullptr);
        Elf_Data *symbols = elf_getdata(table, nullptr);
        for (uint64_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
            GElf_Rela entry;
            GElf_Sym symbol;
            if (gelf_getrela(relocations, static_cast<int>(i), &entry) == nullptr ||
                gelf_getsym(symbols, static_cast<int>(GELF_R_SYM(entry.r_info)), &symbol) == nullptr)
                continue;
            const char *name = elf_strptr(elf, names.sh_link, symbol.st_name);
            if (name != nullptr && *name != '\0') out.emplace(entry.r_offset, name);
        }
    }
};

NetworkAllowed::NetworkAllowed() {
    const std::string &servers = forbid_network();
    if (!servers.empty()) ::setenv(kServers, servers.c_str(), 1);
}

NetworkAllowed::~NetworkAllowed() { ::unsetenv(kServers); }

Symbolizer::Symbolizer() : files_(std::make_unique<Files>()) { forbid_network(); }
Symbolizer::~Symbolizer() = default;

const std::vector<SourceFrame> &Symbolizer::resolve(const std::string &path, uint64_t address) {
    const auto [entry, fresh] = files_->open[path].resolved.try_emplace(address);
    if (fresh) entry->second = look_up(path, address);
    return entry->second;
}

std::string Symbolizer::producer(const std::string &path, uint64_t address) {
    Dwfl_Module *file = files_->module(path);
    load_debug_file(file);
    if (file == nullptr) return {};
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = dwfl_module_addrdie(file, address, &bias);
    if (unit == nullptr) unit = files_->open[path].units.at(file, address, &bias);
    if (unit == nullptr) return {};
    Dwarf_Die functions = functions_of(unit);
    Dwarf_Attribute memory;
    const char *name = dwarf_formstring(dwarf_attr(&functions, DW_AT_producer, &memory));
    return name != nullptr ? name : "";
}

std::vector<SourceFrame> Symbolizer::look_up(const std::string &path, uint64_t address) {
    std::vector<SourceFrame> frames;
    Dwfl_Module *file = files_->module(path);
    load_debug_file(file);
    if (file == nullptr) return {SourceFrame{}};

    Files::File &held = files_->open[path];
    SourceFrame here;
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = dwfl_module_addrdie(file, address, &bias);
    Dwarf_Die functions{};
    std::vector<Dwarf_Die> scopes;
    if (unit != nullptr) {
        functions = functions_of(unit);
        scopes = held.scopes.at(&functions, address - bias);
    }
    if (scopes.empty()) { // no unit, or one that lies around another that .debug_aranges does not list
        Dwarf_Addr its_bias = 0;
        if (Dwarf_Die *listed = held.units.at(file, address, &its_bias)) {
            unit = listed;
            bias = its_bias;
            functions = functions_of(unit);
            scopes = held.scopes.at(&functions, address - bias);
        }
    }
    if (Dwarf_Line *line = unit != nullptr ? dwarf_getsrc_die(unit, address - bias) : nullptr) {
        const char *name = dwarf_linesrc(line, nullptr, nullptr);
        if (name != nullptr && dwarf_lineno(line, &here.line) == 0) here.file = name;
    }
    for (Dwarf_Die &scope : scopes) {
        const int tag = dwarf_tag(&scope);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
        Dwarf_Attribute memory;
        Dwarf_Attribute *linkage = dwarf_attr_integrate(&scope, DW_AT_linkage_name, &memory);
        const char *mangled = linkage != nullptr ? dwarf_formstring(linkage) : nullptr;
        const char *plain = dwarf_diename(&scope);
        here.function = mangled != nullptr ? demangle(mangled) : plain != nullptr ? plain : "";
        here.inlined = tag == DW_TAG_inlined_subroutine;
        frames.push_back(here);
        if (tag == DW_TAG_subprogram) break;
        // The next frame is the caller, at the line where this one was inlined.
        here = SourceFrame{};
        Dwarf_Word call_line = 0;
        if (dwarf_formudata(dwarf_attr(&scope, DW_AT_call_line, &memory), &call_line) == 0) {
            here.line = static_cast<int>(call_line);
        }
        Dwarf_Word call_file = 0;
        Dwarf_Files *files = nullptr;
        if (dwarf_formudata(dwarf_attr(&scope, DW_AT_call_file, &memory), &call_file) == 0 &&
            dwarf_getsrcfiles(&functions, &files, nullptr) == 0) {
            if (const char *name = dwarf_filesrc(files, call_file, nullptr, nullptr)) here.file = name;
        }
    }
    if (!frames.empty() && frames.back().function.starts_with("__")) {
        // The public name of a library's function: printf and not __printf.
        std::string exported = function(path, address);
        if (!exported.empty() && frames.back().function.ends_with(exported))
            frames.back().function = std::move(exported);
    }
    if (frames.empty() || frames.back().function.empty()) {
        here.function = function(path, address);
        if (frames.empty()) {
            frames.push_back(here);
        } else {
            frames.back().function = here.function;
        }
    }
    return frames;
}

std::string Symbolizer::build_id(const std::string &path) {
    Dwfl_Module *const file = files_->module(path);
    GElf_Addr bias = 0;
    Elf *const elf = file != nullptr ? dwfl_module_getelf(file, &bias) : nullptr;
    const void *bits = nullptr;
    const ssize_t length = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &bits) : 0;
    return length > 0 ? std::string(static_cast<const char *>(bits), static_cast<size_t>(length))
                      : std::string();
}

void Symbolizer::search(const std::vector<std::string> &folders) { search_debug_files(folders); }

bool Symbolizer::opens(const std::string &path) { return files_->module(path) != nullptr; }

// Takes the descriptor.
bool Symbolizer::adopt(const std::string &name, int descriptor) {
    files_->open.erase(name);
    Files::File &file = files_->open[name];
    Files::report(file, name, descriptor);
    return file.module != nullptr;
}

bool Symbolizer::adopt_by_build_id(const std::string &name, const std::string &build_id) {
    const std::unique_ptr<Dwfl, decltype(&dwfl_end)> dwfl(dwfl_begin(&kFindDebugFiles), dwfl_end);
    if (!dwfl || build_id.empty()) return false;
    dwfl_report_begin(dwfl.get());
    // Where it lies does not matter: it is never looked into.
    Dwfl_Module *const wanted = dwfl_report_module(dwfl.get(), name.c_str(), 4096, 8192);
    const auto *bits = reinterpret_cast<const unsigned char *>(build_id.data());
    if (wanted == nullptr || dwfl_module_report_build_id(wanted, bits, build_id.size(), 0) != 0) return false;
    dwfl_report_end(dwfl.get(), nullptr, nullptr);
    char *found = nullptr;
    int descriptor =
        dwfl_standard_find_debuginfo(wanted, nullptr, name.c_str(), 0, nullptr, nullptr, 0, &found);
    Elf *elf = nullptr;
    if (descriptor < 0) descriptor = dwfl_build_id_find_elf(wanted, nullptr, name.c_str(), 0, &found, &elf);
    std::free(found);
    if (elf != nullptr) elf_end(elf);
    return descriptor >= 0 && adopt(name, descriptor) && this->build_id(name) == build_id;
}

std::vector<AddressRange> Symbolizer::malloc_ranges(const std::string &path) {
    const std::vector<Files::Symbol> &symbols = files_->symbols(path);
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    bool has_private = false;
    for (const Files::Symbol &symbol : symbols) {
        if (malloc_exports().contains(symbol.name) && symbol.end > symbol.begin) {
            begin = std::min(begin, symbol.begin);
            end = std::max(end, symbol.end);
        }
        has_private = has_private || symbol.name == "_int_malloc";
    }
    if (end == 0) return {};
    // Functions of 40 KB between them mean that this is no glibc; then trust nothing but the exports.
    if (end - begin > 65536) {
        const std::vector<std::string> names(malloc_exports().begin(), malloc_exports().end());
        return functions(path, names);
    }
    const std::set<std::string> helpers = {"malloc_printerr", "int_mallinfo",       "munmap_chunk",
                                           "unlink_chunk",    "malloc_consolidate", "_int_free",
                                           "_int_malloc",     "sysmalloc"};
    uint64_t before = 0;
    uint64_t first_helper = begin;
    for (const Files::Symbol &symbol : symbols) {
        const std::string base = symbol.name.substr(0, symbol.name.find('.'));
        if (helpers.contains(base) && symbol.begin < begin && begin - symbol.begin < 65536) {
            first_helper = std::min(first_helper, symbol.begin);
        }
        if (symbol.end <= begin) before = std::max(before, symbol.end);
    }
    if (has_private) return {{first_helper, end}};
    return {{begin - before < 65536 ? before : begin, end}};
}

uint64_t Symbolizer::address_at(const std::string &path, uint64_t offset) {
    for (const Files::Segment &segment : files_->segments(path)) {
        if (offset >= segment.offset && offset - segment.offset < segment.size)
            return segment.address + (offset - segment.offset);
    }
    return offset;
}

uint64_t Symbolizer::code_mapped_at(const std::string &path, uint64_t offset) {
    constexpr uint64_t page = 4096;
    for (const Files::Segment &segment : files_->segments(path)) {
        const uint64_t begin = segment.offset / page * page;
        if (segment.is_code && offset >= begin && offset - begin < segment.offset - begin + segment.size)
            return segment.address - segment.offset + offset;
    }
    return address_at(path, offset);
}

uint64_t Symbolizer::offset_at(const std::string &path, uint64_t address) {
    for (const Files::Segment &segment : files_->segments(path)) {
        if (address >= segment.address && address - segment.address < segment.size)
            return segment.offset + (address - segment.address);
    }
    return address;
}

std::string Symbolizer::imported(const std::string &path, uint64_t slot) {
    const std::map<uint64_t, std::string> &imports = files_->imports(path);
    const auto found = imports.find(slot);
    return found != imports.end() ? found->second : std::string();
}

std::vector<uint64_t> Symbolizer::slots(const std::string &path, const std::string &name) {
    std::vector<uint64_t> found;
    for (const auto &[slot, imported] : files_->imports(path)) {
        if (imported == name) found.push_back(slot);
    }
    return found;
}

std::vector<std::pair<std::string, AddressRange>> Symbolizer::named(const std::string &path,
                                                                    const std::vector<std::string> &names) {
    const std::set<std::string> wanted(names.begin(), names.end());
    std::vector<std::pair<std::string, AddressRange>> found;
    for (const Files::Symbol &symbol : files_->symbols(path)) {
        if (wanted.contains(symbol.name))
            found.emplace_back(symbol.name, AddressRange{symbol.begin, symbol.end});
    }
    return found;
}

void Symbolizer::each_function(const std::string &path,
                               const std::function<void(const std::string &name)> &see) {
    for (const Files::Symbol &symbol : files_->symbols(path)) see(symbol.name);
}

std::map<std::string, uint64_t> Symbolizer::objects(const std::string &path,
                                                    const std::vector<std::string> &names) {
    const std::set<std::string> wanted(names.begin(), names.end());
    std::map<std::string, uint64_t> found;
    Files::each_symbol(files_->module(path),
                       [&](std::string &&name, unsigned type, uint64_t address, uint64_t) {
                           if (type == STT_OBJECT && wanted.contains(name))
                               found.emplace(std::move(name), address);
                       });
    return found;
}

std::string Symbolizer::function(const std::string &path, uint64_t address) {
    // By a search of our own: elfutils goes through all symbols, of which a runtime has hundreds of
    // thousands.
    const std::vector<Files::Symbol> &symbols = files_->symbols(path);
    const auto behind = [address](const Files::Symbol &symbol) { return symbol.begin <= address; };
    auto at = std::partition_point(symbols.begin(), symbols.end(), behind);
    const Files::Symbol *found = nullptr;
    constexpr int most_aliases = 16; // of one function; and ends of functions that lie within others
    for (int step = 0; step < most_aliases && at != symbols.begin(); ++step) {
        const Files::Symbol &symbol = *--at;
        if (found != nullptr && symbol.begin != found->begin) break;
        const bool unsized = symbol.end == symbol.begin && step == 0; // written by hand
        if (!unsized && address >= symbol.end) continue;
        // The plain one of several names: brk and not __brk.
        if (found == nullptr || symbol.name.size() < found->name.size()) found = &symbol;
    }
    return found != nullptr ? demangle(found->name.c_str()) : std::string();
}

std::vector<AddressRange> Symbolizer::functions(const std::string &path,
                                                const std::vector<std::string> &names) {
    std::set<std::string> exact;
    std::vector<std::string> beginnings;
    for (const std::string &name : names) {
        if (name.ends_with('*')) {
            beginnings.push_back(name.substr(0, name.size() - 1));
        } else {
            exact.insert(name);
        }
    }
    std::vector<AddressRange> found;
    for (const Files::Symbol &symbol : files_->symbols(path)) {
        const bool wanted =
            exact.contains(symbol.name) ||
            std::any_of(beginnings.begin(), beginnings.end(),
                        [&](const std::string &beginning) { return symbol.name.starts_with(beginning); });
        if (wanted && symbol.end > symbol.begin) found.push_back({symbol.begin, symbol.end});
    }
    return found;
}

} // namespace reap::native
