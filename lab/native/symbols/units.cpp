#include "symbols/units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>

#include <dwarf.h>

#include "files/file.h"
#include "files/regular.h"

namespace reap::native {
namespace {

const char *text(Dwarf_Die *unit, unsigned attribute) {
    Dwarf_Attribute memory;
    return dwarf_formstring(dwarf_attr(unit, attribute, &memory));
}

// libdw opens what is named, and would wait for the writer of a pipe.
bool has_split_file(Dwarf_Die *unit) {
    const char *name = text(unit, DW_AT_dwo_name);
    if (name == nullptr) name = text(unit, DW_AT_GNU_dwo_name);
    if (name == nullptr) return false;
    const char *folder = text(unit, DW_AT_comp_dir);
    const auto path = std::filesystem::path(folder != nullptr ? folder : "") / name;
    return Descriptor(open_regular(path)).get() >= 0;
}

} // namespace

Dwarf_Die *Units::at(Dwfl_Module *file, uint64_t address, Dwarf_Addr *bias) {
    if (!listed_) list(file);
    const auto after = std::partition_point(ranges_.begin(), ranges_.end(),
                                            [address](const Range &range) { return range.begin <= address; });
    if (after == ranges_.begin() || address >= std::prev(after)->end) return nullptr;
    *bias = std::prev(after)->bias;
    return std::prev(after)->unit;
}

Dwarf_Die functions_of(Dwarf_Die *unit) {
    Dwarf_Die split{};
    uint8_t type = 0;
    const bool is_split =
        has_split_file(unit) &&
        dwarf_cu_info(unit->cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
        type == DW_UT_skeleton && split.addr != nullptr;
    return is_split ? split : *unit;
}

void Units::list(Dwfl_Module *file) {
    listed_ = true;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die *unit = nullptr; (unit = dwfl_module_nextcu(file, unit, &bias)) != nullptr;) {
        Dwarf_Addr base = 0;
        Dwarf_Addr begin = 0;
        Dwarf_Addr end = 0;
        for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0;) {
            // Linkers move the ranges of functions that they discard to 0.
            if (begin != 0 && end > begin) ranges_.push_back({begin + bias, end + bias, unit, bias});
        }
    }
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range &a, const Range &b) { return a.begin < b.begin; });
}

} // namespace reap::native
