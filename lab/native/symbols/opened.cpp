#include "symbols/opened.h"

#include <algorithm>
#include <set>
#include <unistd.h>

#include "sandbox/sandbox.h"
#include "symbols/debug_files.h"

namespace reap::native {
namespace {

// Calls `take(name, type, address, size)` for each symbol that the file defines.
template <class Take>
void each_symbol(Dwfl_Module *file, Take take) {
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

Elf *elf_of(Dwfl_Module *file) {
    GElf_Addr bias = 0;
    return file != nullptr ? dwfl_module_getelf(file, &bias) : nullptr;
}

void add_imports(Elf *elf, Elf_Scn *section, const GElf_Shdr &header, std::map<uint64_t, std::string> &out) {
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

} // namespace

Dwfl_Module *SymbolReader::Files::module(const std::string &path) {
    File &file = open[path];
    if (!file.tried) report(file, path, open_for_reader(path));
    return file.module;
}

void SymbolReader::Files::report(File &file, const std::string &path, int descriptor) {
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

const std::vector<SymbolReader::Files::Symbol> &SymbolReader::Files::symbols(const std::string &path) {
    Dwfl_Module *file = module(path);
    File &held = open[path];
    std::vector<Symbol> &found = held.symbols;
    if (held.listed) return found;
    held.listed = true;
    each_symbol(file, [&found](std::string &&name, unsigned type, uint64_t address, uint64_t size) {
        if (type == STT_FUNC || type == STT_GNU_IFUNC)
            found.push_back({std::move(name), address, address + size});
    });
    std::sort(found.begin(), found.end(), [](const Symbol &a, const Symbol &b) { return a.begin < b.begin; });
    return found;
}

std::vector<Segment> SymbolReader::Files::segments(const std::string &path) {
    Elf *elf = elf_of(module(path));
    std::vector<Segment> found;
    size_t count = 0;
    if (elf == nullptr || elf_getphdrnum(elf, &count) != 0) return found;
    for (size_t i = 0; i < count; ++i) {
        GElf_Phdr header;
        if (gelf_getphdr(elf, static_cast<int>(i), &header) != nullptr && header.p_type == PT_LOAD)
            found.push_back({header.p_offset, header.p_vaddr, header.p_filesz, (header.p_flags & PF_X) != 0});
    }
    return found;
}

std::map<uint64_t, std::string> SymbolReader::Files::imports(const std::string &path) {
    std::map<uint64_t, std::string> found;
    Elf *elf = elf_of(module(path));
    for (Elf_Scn *section = nullptr; elf != nullptr && (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_RELA && header.sh_entsize != 0)
            add_imports(elf, section, header, found);
    }
    return found;
}

std::map<std::string, uint64_t> SymbolReader::Files::objects(const std::string &path,
                                                             const std::vector<std::string> &names) {
    const std::set<std::string> wanted(names.begin(), names.end());
    std::map<std::string, uint64_t> found;
    each_symbol(module(path), [&](std::string &&name, unsigned type, uint64_t address, uint64_t) {
        if (type == STT_OBJECT && wanted.contains(name)) found.emplace(std::move(name), address);
    });
    return found;
}

} // namespace reap::native
