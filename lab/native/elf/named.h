// Finds which functions of a list a symbol table has, and where. For tables of any size: nothing is indexed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace reap::native {

struct NamedSymbols {
    std::map<std::string, uint64_t> defined; // as functions, with their values: addresses in the file
    std::vector<std::string> undefined;      // wanted from others
};

// `table` is an ELF file's table of 64-bit symbols and `strings` that of its names, as the file has them.
NamedSymbols named_symbols(std::string_view table, std::string_view strings,
                           const std::vector<std::string> &names);

} // namespace reap::native
