#include "elf/tables.h"

#include <climits>
#include <cstring>
#include <elf.h>
#include <memory>
#include <system_error>
#include <vector>

namespace reap::native {
namespace {

// Cut at PATH_MAX; empty where it is not among the table's names.
std::string_view name_of(const Elf64_Sym &symbol, const SymbolTable &table) {
    if (symbol.st_name >= table.strings.size()) return {};
    const std::string_view name = table.strings.substr(symbol.st_name, PATH_MAX);
    return name.substr(0, name.find('\0'));
}

} // namespace

void each_symbol_table(const std::string &path, const std::function<void(const SymbolTable &)> &see) {
    std::unique_ptr<const ElfFile> file;
    std::vector<SymbolTable> tables;
    try {
        file = std::make_unique<const ElfFile>(path);
        tables = file->symbol_tables();
    } catch (const BadElf &) {
        return;
    } catch (const std::system_error &) {
        return;
    }
    for (const SymbolTable &each : tables) see(each);
}

bool names_local_function(const SymbolTable &table) {
    std::string_view rest = table.symbols;
    for (; rest.size() >= sizeof(Elf64_Sym); rest.remove_prefix(sizeof(Elf64_Sym))) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, rest.data(), sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) != STB_LOCAL ||
            ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
            continue;
        // Linkers make these two local after they have discarded the names of others.
        const std::string_view name = name_of(symbol, table);
        if (name != "_init" && name != "_fini") return true;
    }
    return false;
}

void each_defined_symbol(
    const SymbolTable &table,
    const std::function<void(std::string_view name, unsigned type, uint64_t value)> &see) {
    std::string_view rest = table.symbols;
    for (; rest.size() >= sizeof(Elf64_Sym); rest.remove_prefix(sizeof(Elf64_Sym))) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, rest.data(), sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= table.strings.size()) continue;
        see(name_of(symbol, table), ELF64_ST_TYPE(symbol.st_info), symbol.st_value);
    }
}

void each_defined_function(const SymbolTable &table, const std::function<void(std::string_view name)> &see) {
    each_defined_symbol(table, [&see](std::string_view name, unsigned type, uint64_t) {
        if (type == STT_FUNC || type == STT_GNU_IFUNC) see(name);
    });
}

} // namespace reap::native
