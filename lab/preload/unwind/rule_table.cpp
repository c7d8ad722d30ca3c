#include "rule_table.h"

#include "platform.h"

namespace reap::preload {

void RuleTable::put(Table &table, uint64_t key, uint64_t rule) noexcept {
    size_t at = table.first(key);
    while (table.slots[at].key != 0) at = (at + 1) & table.mask;
    __atomic_store_n(&table.slots[at].rule, rule, __ATOMIC_RELAXED);
    __atomic_store_n(&table.slots[at].key, key, __ATOMIC_RELEASE);
}

void RuleTable::add(uint64_t return_address, FrameRule rule) noexcept {
    if (find(return_address).cfa != Cfa::Unknown || !make_room()) return;
    put(*table_, return_address, __builtin_bit_cast(uint64_t, rule));
    ++used_;
    ++live_;
}

void RuleTable::clear() noexcept {
    for (size_t at = 0; table_ != nullptr && at <= table_->mask; ++at) {
        uint64_t &key = table_->slots[at].key;
        if (key != 0) __atomic_store_n(&key, kForgotten, __ATOMIC_RELEASE);
    }
    live_ = 0;
}

// Keeps half of the slots empty.
bool RuleTable::make_room() noexcept {
    constexpr unsigned kFirstBits = 6;
    constexpr unsigned kNextBits = 11;
    constexpr size_t kWord = 64;
    if (table_ != nullptr && used_ * 2 <= table_->mask) return true;
    unsigned bits = table_ == nullptr ? kFirstBits : kNextBits;
    while (size_t{1} << bits < live_ * 4) ++bits;
    const size_t capacity = size_t{1} << bits;
    const size_t bytes = sizeof(Table) + capacity * sizeof(Slot);
    auto *fresh = static_cast<Table *>(table_ == nullptr ? map_first_table(bytes) : map_private(bytes));
    if (fresh == nullptr) return false;
    fresh->mask = capacity - 1;
    fresh->shift = kWord - bits;
    for (size_t at = 0; table_ != nullptr && at <= table_->mask; ++at) {
        const Slot &slot = table_->slots[at];
        if (slot.key > kForgotten) put(*fresh, slot.key, slot.rule);
    }
    used_ = live_;
    __atomic_store_n(&table_, fresh, __ATOMIC_RELEASE);
    return true;
}

} // namespace reap::preload
