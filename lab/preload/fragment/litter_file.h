// The litter file of one process: the plan, and slots for reports.
#pragma once

#include <cstdint>

#include "reap_litter.h"

namespace reap::preload {

class LitterFile {
  public:
    // Maps the file at `path`. False if it does not exist or is not valid. No descriptor stays open.
    bool open(const char *path) noexcept;

    void close() noexcept;

    [[nodiscard]] bool is_open() const noexcept { return header_ != nullptr; }
    [[nodiscard]] const reap_litter_header &header() const noexcept { return *header_; }
    [[nodiscard]] const reap_litter_size *sizes() const noexcept {
        return reinterpret_cast<const reap_litter_size *>(header_ + 1);
    }

    // A new slot; null if there are no more (the header then counts the lost reports).
    [[nodiscard]] reap_litter_report *next_report() const noexcept;

    void count_deepbind() const noexcept { __atomic_fetch_add(&header_->deepbind, 1, __ATOMIC_RELAXED); }

  private:
    reap_litter_header *header_ = nullptr;
    uint64_t length_ = 0;
};

} // namespace reap::preload
