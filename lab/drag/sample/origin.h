// The call stack that allocated a sample.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reap_drag_samples.h"

namespace reap::drag {

// Records each file that contains frames of the process once. Not thread-safe.
class Origin {
  public:
    // Writes the calling thread's stack to the row; takes a few microseconds.
    void record(reap_drag_samples &header, reap_drag_sample &row) noexcept;

  private:
    uint64_t locate(reap_drag_samples &header, uint64_t address) noexcept;

    struct Module {
        const void *map = nullptr; // its link_map
        uint32_t name = 0;         // offset in the header's names
    };

    static constexpr uint32_t kMost = 256;
    Module modules_[kMost] = {};
    uint32_t count_ = 0;
};

} // namespace reap::drag
