#include "symbols/scopes.h"

#include <algorithm>
#include <cstddef>

#include <dwarf.h>

namespace reap::native {
namespace {

// Scopes of functions beside units: a function too, for the functions nested in it.
bool may_hold_functions(int tag) {
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
        return true;
    default:
        return false;
    }
}

bool is_scope(int tag) { return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block; }

} // namespace

std::vector<Dwarf_Die> Scopes::at(Dwarf_Die *unit, uint64_t address) {
    const std::vector<Function> &known = functions(unit);
    const auto after = std::partition_point(known.begin(), known.end(), [address](const Function &function) {
        return function.begin <= address;
    });
    // Nested functions lie beside those around them, so that ranges do not overlap.
    if (after == known.begin() || address >= std::prev(after)->end) return {};

    std::vector<Dwarf_Die> scopes = {std::prev(after)->entry};
    Dwarf_Die child;
    bool more = dwarf_child(&scopes.back(), &child) == 0;
    while (more) {
        if (is_scope(dwarf_tag(&child)) && dwarf_haspc(&child, address) == 1) {
            scopes.push_back(child);
            more = dwarf_child(&scopes.back(), &child) == 0;
        } else {
            more = dwarf_siblingof(&child, &child) == 0;
        }
    }
    std::reverse(scopes.begin(), scopes.end());
    return scopes;
}

const std::vector<Scopes::Function> &Scopes::functions(Dwarf_Die *unit) {
    const auto [entry, fresh] = units_.try_emplace(unit->addr);
    std::vector<Function> &found = entry->second;
    if (fresh) {
        collect(unit, found);
        std::sort(found.begin(), found.end(),
                  [](const Function &a, const Function &b) { return a.begin < b.begin; });
    }
    return found;
}

// A function has several ranges where its cold part lies elsewhere.
void Scopes::collect(Dwarf_Die *parent, std::vector<Function> &found) {
    Dwarf_Die child;
    if (dwarf_child(parent, &child) != 0) return;
    do {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram) {
            Dwarf_Addr base = 0;
            Dwarf_Addr begin = 0;
            Dwarf_Addr end = 0;
            for (ptrdiff_t at = 0; (at = dwarf_ranges(&child, at, &base, &begin, &end)) > 0;) {
                found.push_back({begin, end, child});
            }
        }
        if (may_hold_functions(tag)) collect(&child, found);
    } while (dwarf_siblingof(&child, &child) == 0);
}

} // namespace reap::native
