// Samples sizes in exact proportion to their counts, in constant time.
//
// Walker's alias method (1977) with Vose's construction (1991), in integers: no probability is rounded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "random.h"
#include "reap_litter.h"

namespace reap::preload {

class AliasTable {
  public:
    // One per size; the caller owns the memory.
    struct Column {
        uint64_t own; // how many of the `total_` tickets in this column belong to its own size
        uint32_t alias;
        uint32_t next; // during construction: the next column on its list
    };

    // `count` is 1 to REAP_LITTER_MOST_SIZES, the counts are at least 1, and together at most
    // REAP_LITTER_MOST_COUNT: then no product overflows. Linear in `count`.
    AliasTable(const reap_litter_size *sizes, uint32_t count, Column *columns) noexcept
        : columns_(columns), count_(count) {
        for (uint32_t i = 0; i < count; ++i) total_ += sizes[i].count;
        // Every column holds total_ tickets, and size i has count_ * sizes[i].count of them: columns of sizes
        // with fewer are filled up from sizes with more.
        List small{columns};
        List large{columns};
        for (uint32_t i = 0; i < count; ++i) {
            columns[i] = {sizes[i].count * count, i, kNone};
            (columns[i].own < total_ ? small : large).push(i);
        }
        while (!small.empty() && !large.empty()) {
            const uint32_t receiver = small.pop();
            const uint32_t donor = large.pop();
            columns[receiver].alias = donor;
            columns[donor].own -= total_ - columns[receiver].own;
            (columns[donor].own < total_ ? small : large).push(donor);
        }
    }

    // The place of a size in the table of sizes.
    [[nodiscard]] uint32_t draw(Random &random) const noexcept {
        const auto index = static_cast<uint32_t>(random.below(count_));
        const Column &column = columns_[index];
        return random.below(total_) < column.own ? index : column.alias;
    }

  private:
    static constexpr uint32_t kNone = UINT32_MAX;

    struct List {
        Column *columns;
        uint32_t first = kNone;
        [[nodiscard]] bool empty() const noexcept { return first == kNone; }
        void push(uint32_t index) noexcept {
            columns[index].next = first;
            first = index;
        }
        uint32_t pop() noexcept {
            const uint32_t index = first;
            first = columns[index].next;
            return index;
        }
    };

    const Column *columns_;
    uint32_t count_;
    uint64_t total_ = 0;
};

} // namespace reap::preload
