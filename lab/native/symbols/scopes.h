// The functions that an address lies in, by DWARF. elfutils walks a whole compilation unit for each address,
// which takes milliseconds where link-time optimization has made a few large units of a program.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

namespace reap::native {

// Walks each unit once. Is of one file, which must stay open.
class Scopes {
  public:
    // The function at `address` (as the unit has it, without bias) and the scopes within it, innermost first;
    // the function is the last. Empty where the unit has none there.
    std::vector<Dwarf_Die> at(Dwarf_Die *unit, uint64_t address);

  private:
    struct Function {
        uint64_t begin;
        uint64_t end;
        Dwarf_Die entry;
    };
    // By where the unit's first entry is in memory: its functions, by where they begin.
    std::unordered_map<const void *, std::vector<Function>> units_;

    const std::vector<Function> &functions(Dwarf_Die *unit);
    static void collect(Dwarf_Die *parent, std::vector<Function> &found);
};

} // namespace reap::native
