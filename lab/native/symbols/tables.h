// The symbol tables of a file as it has them: nothing is indexed, demangled or looked for elsewhere.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace reap::native {

struct SymbolTable {
    std::string_view symbols; // of type Elf64_Sym
    std::string_view strings; // their names
    bool dynamic = false;     // what the loader binds calls to
};

// Calls `see` with each of them; not at all where it is no 64-bit ELF file. Reads nothing else of the file.
void each_symbol_table(const std::string &path, const std::function<void(const SymbolTable &)> &see);

// Calls `see` with the name of each function that the table defines.
void each_defined_function(const SymbolTable &table, const std::function<void(std::string_view name)> &see);

} // namespace reap::native
