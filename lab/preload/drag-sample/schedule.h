// When sampled objects are looked at next: a heap of times.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform.h"

namespace reap::drag {

// What is due first comes first. An entry whose object has gone stays until its time and is known by its
// turn. Not thread-safe.
class Schedule {
  public:
    struct Look {
        uint64_t time;
        uint32_t slot;
        uint32_t turn; // of the slot, when the look was planned
    };
    static constexpr size_t kMost = size_t{1} << 21;

    bool reserve() noexcept {
        looks_ = static_cast<Look *>(preload::map_private(kMost * sizeof(Look)));
        return looks_ != nullptr;
    }

    // The time of the first one; never where there is none.
    [[nodiscard]] uint64_t next() const noexcept { return count_ == 0 ? UINT64_MAX : looks_[0].time; }

    // False where it is full.
    bool plan(Look look) noexcept {
        if (count_ == kMost) return false;
        size_t at = count_++;
        while (at > 0 && looks_[(at - 1) / 2].time > look.time) {
            looks_[at] = looks_[(at - 1) / 2];
            at = (at - 1) / 2;
        }
        looks_[at] = look;
        return true;
    }

    // Takes the first one; there is one.
    Look take() noexcept {
        const Look first = looks_[0];
        const Look last = looks_[--count_];
        size_t at = 0;
        for (size_t child; (child = 2 * at + 1) < count_; at = child) {
            if (child + 1 < count_ && looks_[child + 1].time < looks_[child].time) ++child;
            if (last.time <= looks_[child].time) break;
            looks_[at] = looks_[child];
        }
        looks_[at] = last;
        return first;
    }

    void clear() noexcept { count_ = 0; }

  private:
    Look *looks_ = nullptr;
    size_t count_ = 0;
};

} // namespace reap::drag
