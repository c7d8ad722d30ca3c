// The file of a process's samples, one row each.
#pragma once

#include <cstdint>

#include "reap_drag_samples.h"

namespace reap::drag {

// Mapped shared and written in place. Not thread-safe.
class Ledger {
  public:
    static constexpr uint64_t kMaxRows = uint64_t{1} << 20;

    // Creates the process's file, whose name begins with `prefix`; false on failure.
    bool open(const char *prefix) noexcept;

    [[nodiscard]] bool is_open() const noexcept { return header_ != nullptr; }
    [[nodiscard]] reap_drag_samples &header() noexcept { return *header_; }
    [[nodiscard]] reap_drag_sample &row(uint32_t number) noexcept { return rows_[number]; }

    // Adds a zeroed row; returns its number, or kNone if there is no space.
    uint32_t add() noexcept;

    // Drops the file in the child of a fork.
    void forget() noexcept;

    static constexpr uint32_t kNone = UINT32_MAX;

  private:
    bool grow() noexcept;

    reap_drag_samples *header_ = nullptr;
    reap_drag_sample *rows_ = nullptr;
    uint64_t room_ = 0; // rows that the file has space for
    char name_[512] = {};
};

} // namespace reap::drag
