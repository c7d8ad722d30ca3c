// Sizes drawn at random in exact proportion to their counts, in constant time.
//
// Walker's alias method (1977) as Vose set it up (1991), in integers: no probability is rounded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "random.h"
#include "reap_litter.h"

namespace reap::preload {

class AliasTable {
  public:
    // One for each size; the memory is the caller's.
    struct Column {
        uint64_t own; // of `total_` tickets in this column, how many are its own size's
        uint32_t alias;
        uint32_t next; // while the table is set up: the next column on its list
    };

    // `count` is 1 to REAP_LITTER_MOST_SIZES, the counts are at least 1, and together at most
    // REAP_LITTER_MOST_COUNT: then no product overflows. Linear in `count`.
    AliasTable(const reap_litter_size *sizes, uint32_t count, Column *columns) noexcept
        : columns_(columns), count_(count) {
        for (uint32_t i = 0; i < count; ++i) total_ += sizes[i].count;
        // Every column holds total_ tickets, size i has count_ * sizes[i].count of them: those with fewer
        // than a column are filled up by those with more.
        List poor{columns};
        List rich{columns};
        for (uint32_t i = 0; i < count; ++i) {
            columns[i] = {sizes[i].count * count, i, kNone};
            (columns[i].own < total_ ? poor : rich).push(i);
        }
        while (!poor.empty() && !rich.empty()) {
            const uint32_t taker = poor.pop();
            const uint32_t giver = rich.pop();
            columns[taker].alias = giver;
            columns[giver].own -= total_ - columns[taker].own;
            (columns[giver].own < total_ ? poor : rich).push(giver);
        }
    }

    // The place of a size in the table of sizes.
    [[nodiscard]] uint32_t draw(Random &random) const noexcept {
        const auto place = static_cast<uint32_t>(random.below(count_));
        const Column &column = columns_[place];
        return random.below(total_) < column.own ? place : column.alias;
    }

  private:
    static constexpr uint32_t kNone = UINT32_MAX;

    struct List {
        Column *columns;
        uint32_t first = kNone;
        [[nodiscard]] bool empty() const noexcept { return first == kNone; }
        void push(uint32_t place) noexcept {
            columns[place].next = first;
            first = place;
        }
        uint32_t pop() noexcept {
            const uint32_t place = first;
            first = columns[place].next;
            return place;
        }
    };

    const Column *columns_;
    uint32_t count_;
    uint64_t total_ = 0;
};

} // namespace reap::preload
