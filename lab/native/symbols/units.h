// The compilation units of a file by the ranges that they give themselves. elfutils finds a unit by
// .debug_aranges, which clang and rustc do not write.
#pragma once

#include <cstdint>
#include <vector>

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

namespace reap::native {

// Reads the first entry of every unit, once, when the first address is asked for. Is of one file, which must
// stay open.
class Units {
  public:
    // The unit that has code at `address`, and sets `bias` as dwfl_module_addrdie does; null if none has.
    Dwarf_Die *at(Dwfl_Module *file, uint64_t address, Dwarf_Addr *bias);

  private:
    struct Range {
        uint64_t begin; // bias included
        uint64_t end;
        Dwarf_Die *unit;
        Dwarf_Addr bias;
    };
    bool listed_ = false;
    std::vector<Range> ranges_; // by where they begin

    void list(Dwfl_Module *file);
};

// The unit with the functions of `unit`, which is of `file`: that of its .dwo file where split DWARF has it
// there, else itself.
Dwarf_Die functions_of(Dwfl_Module *file, Dwarf_Die *unit);

} // namespace reap::native
