// The anonymous mappings of this process, in which blocks of glibc with a mapping each are found.
#pragma once

#include <cstdint>

#include "reap_resident.h"

namespace reap::preload {

class Mappings {
  public:
    // Gives the calling thread a table of descriptors of its own, with the list of mappings alone in it: the
    // program's descriptors stay as they are. Call at the thread's start. Does nothing before Linux 5.9.
    void open() noexcept;

    // To be called when the thread that called `open` has ended, and its table with it.
    void forget() noexcept { maps_ = -1; }

    // Looks for blocks of `bytes` in all, in the anonymous mappings. Sets `mapped` and `mapped_resident`;
    // both stay 0 if the mappings are not known. Ends soon after `ending` is not 0. About 0.5 us a resident
    // page before the last block is found, and 0.2 s a terabyte that nobody touched.
    void find(uint64_t bytes, const int &ending, reap_resident_around &around) const noexcept;

  private:
    int maps_ = -1;
};

} // namespace reap::preload
