// Where a drawn object comes from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reap_drag_samples.h"

namespace reap::drag {

// Knows the files that the frames of a process lie in, and names each once. Not thread-safe.
class Origin {
  public:
    // Puts the stack of the calling thread into the row; costs some microseconds.
    void tell(reap_drag_samples &header, reap_drag_sample &row) noexcept;

  private:
    uint64_t place_of(reap_drag_samples &header, uint64_t address) noexcept;

    struct Module {
        const void *map = nullptr; // the loader's
        uint32_t name = 0;         // where it begins in the header
    };

    static constexpr uint32_t kMost = 256;
    Module modules_[kMost] = {};
    uint32_t count_ = 0;
};

} // namespace reap::drag
