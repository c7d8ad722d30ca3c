// Frame rules by return address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frame_rule.h"

namespace reap::preload {

// A concurrent hash map return address -> rule. Lookups take no lock; changes are serialised by the caller's
// lock. Grows; old tables stay mapped because a reader may still use them.
class RuleTable {
  public:
    // The rule of a return address; Cfa::Unknown if it is not in the table.
    [[nodiscard]] FrameRule find(uint64_t return_address) const noexcept {
        const Table *table = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
        if (table == nullptr) return {};
        for (size_t at = table->first(return_address);; at = (at + 1) & table->mask) {
            const Slot &slot = table->slots[at];
            const uint64_t key = __atomic_load_n(&slot.key, __ATOMIC_ACQUIRE);
            if (key == return_address) return slot.load();
            if (key == 0) return {};
        }
    }

    // Adds a rule, unless it is there or there is no memory. Callers hold the lock.
    void add(uint64_t return_address, FrameRule rule) noexcept;

    // Forgets all rules: code was unloaded. A slot is not used again, so that no reader takes the rule of one
    // address for another's. Callers hold the lock.
    void clear() noexcept;

  private:
    static constexpr uint64_t kForgotten = 1;

    struct Slot {
        uint64_t key; // stored last, with release; 0: an empty slot
        uint64_t rule;
        [[nodiscard]] FrameRule load() const noexcept {
            return __builtin_bit_cast(FrameRule, __atomic_load_n(&rule, __ATOMIC_RELAXED));
        }
    };
    struct Table {
        size_t mask;
        unsigned shift;
        Slot slots[1];
        [[nodiscard]] size_t first(uint64_t return_address) const noexcept {
            return (return_address * UINT64_C(0x9e3779b97f4a7c15)) >> shift;
        }
    };

    bool make_room() noexcept;
    static void put(Table &table, uint64_t key, uint64_t rule) noexcept;

    Table *table_ = nullptr;
    size_t used_ = 0; // slots, forgotten ones too
    size_t live_ = 0;
};

} // namespace reap::preload
