// Contents of a symbol table, read through from its begin: nothing is indexed or demangled.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "elf/elf_file.h"

namespace reap::native {

// Calls `see` with each table of a file; not at all where it is no 64-bit ELF file, or is damaged.
void each_symbol_table(const std::string &path, const std::function<void(const SymbolTable &)> &see);

// Calls `see` for each symbol that the table defines, its name cut at PATH_MAX; `type` is one of STT_*.
void each_defined_symbol(
    const SymbolTable &table,
    const std::function<void(std::string_view name, unsigned type, uint64_t value)> &see);

// Whether the table names a function that no other source of its file may call. Stripping takes these names
// away, from some files those alone.
bool names_local_function(const SymbolTable &table);

// Calls `see` with the name of each function that the table defines.
void each_defined_function(const SymbolTable &table, const std::function<void(std::string_view name)> &see);

} // namespace reap::native
