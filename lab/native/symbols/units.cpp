#include "symbols/units.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <system_error>

#include <dwarf.h>

#include "files/file.h"
#include "sandbox/sandbox.h"

namespace reap::native {

namespace fs = std::filesystem;

namespace {

const char *text(Dwarf_Die *unit, unsigned attribute) {
    Dwarf_Attribute memory;
    return dwarf_formstring(dwarf_attr(unit, attribute, &memory));
}

// The folder of the file that has the debug information, links resolved.
fs::path folder_of(Dwfl_Module *file) {
    const char *own = nullptr;
    const char *debug = nullptr;
    dwfl_module_info(file, nullptr, nullptr, nullptr, nullptr, nullptr, &own, &debug);
    const fs::path named = debug != nullptr ? debug : own != nullptr ? own : "";
    std::error_code none;
    const fs::path resolved = fs::canonical(named, none);
    return (none ? named : resolved).parent_path();
}

// Whether the .dwo file of `unit` is there, and libdw may look for it. It looks beside the file with the
// unit, then in the folder of compilation, opens what has the name, and would wait for the writer of a pipe.
bool has_split_file(Dwfl_Module *file, Dwarf_Die *unit) {
    const char *name = text(unit, DW_AT_dwo_name);
    if (name == nullptr) name = text(unit, DW_AT_GNU_dwo_name);
    if (name == nullptr) return false;
    const char *compiled_in = text(unit, DW_AT_comp_dir);
    const fs::path beside = folder_of(file);
    bool found = false;
    for (const fs::path &folder : {beside, beside / (compiled_in != nullptr ? compiled_in : "")}) {
        if (Descriptor(open_for_reader(folder / name)).get() >= 0) {
            found = true;
        } else if (errno != ENOENT && errno != ENOTDIR) {
            return false;
        }
    }
    return found;
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

Dwarf_Die functions_of(Dwfl_Module *file, Dwarf_Die *unit) {
    Dwarf_Die split{};
    uint8_t type = 0;
    const bool is_split =
        has_split_file(file, unit) &&
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
