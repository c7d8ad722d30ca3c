// All that an ElfFile tells of a file, for tests of damaged ones.
#pragma once

#include <string>

#include "elf/elf_file.h"
#include "elf/named.h"
#include "elf/tables.h"

namespace reap::test {

// Bytes and names that it has. Throws what ElfFile throws.
inline size_t read_all(const std::string &path) {
    const native::ElfFile file(path);
    size_t read = file.interpreter().size() + file.build_id().size();
    for (const char *each : {".rodata", ".symtab", ".strtab", ""}) read += file.section(each).size();
    for (const auto &[address, code] : file.code()) read += code.size();
    for (const native::SymbolTable &table : file.symbol_tables()) {
        native::each_defined_function(table, [&read](std::string_view name) { read += name.size(); });
        read += native::names_local_function(table) ? 1 : 0;
        read += native::named_symbols(table.symbols, table.strings, {"malloc", "a", ""}).defined.size();
    }
    for (const std::string &each : file.needed()) read += each.size();
    for (const std::string &each : file.needed_versions()) read += each.size();
    return read;
}

} // namespace reap::test
