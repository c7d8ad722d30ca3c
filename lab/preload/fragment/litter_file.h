// The litter file as one process sees it: what to do, and slots to say what was done.
#pragma once

#include <cstdint>

#include "reap_litter.h"

namespace reap::preload {

class LitterFile {
  public:
    // Maps the file at `path`. False when it is not there or is none. No descriptor stays open.
    bool open(const char *path) noexcept;

    void close() noexcept;

    [[nodiscard]] bool is_open() const noexcept { return header_ != nullptr; }
    [[nodiscard]] const reap_litter_header &header() const noexcept { return *header_; }
    [[nodiscard]] const reap_litter_size *sizes() const noexcept {
        return reinterpret_cast<const reap_litter_size *>(header_ + 1);
    }

    // A fresh slot; null when there are no more (the header then counts those that were lost).
    [[nodiscard]] reap_litter_report *next_report() const noexcept;

    void count_deepbind() const noexcept { __atomic_fetch_add(&header_->deepbind, 1, __ATOMIC_RELAXED); }

  private:
    reap_litter_header *header_ = nullptr;
    uint64_t length_ = 0;
};

} // namespace reap::preload
