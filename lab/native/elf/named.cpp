#include "elf/named.h"

#include <cstring>
#include <elf.h>
#include <set>
#include <unordered_map>
#include <utility>

namespace reap::native {

NamedSymbols named_symbols(std::string_view table, std::string_view strings,
                           const std::vector<std::string> &names) {
    // Where each name is in the strings. Linkers let a name share the end of a longer one.
    std::unordered_map<size_t, const std::string *> places;
    for (const std::string &name : names) {
        const std::string wanted = name + '\0';
        for (size_t at = strings.find(wanted); at != std::string_view::npos;
             at = strings.find(wanted, at + 1))
            places.emplace(at, &name);
    }
    std::map<std::string, uint64_t> defined;
    std::set<std::string> undefined;
    for (; table.size() >= sizeof(Elf64_Sym); table.remove_prefix(sizeof(Elf64_Sym))) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, table.data(), sizeof symbol);
        const auto place = places.find(symbol.st_name);
        if (place == places.end()) continue;
        const unsigned type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF)
            undefined.insert(*place->second);
        else if (type == STT_FUNC || type == STT_GNU_IFUNC)
            defined.emplace(*place->second, symbol.st_value);
    }
    return {std::move(defined), {undefined.begin(), undefined.end()}};
}

} // namespace reap::native
