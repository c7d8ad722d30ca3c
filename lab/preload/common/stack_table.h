// Call stacks as small numbers: a tree of return addresses with each edge stored once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// A concurrent hash map (parent frame, return address) -> frame id. Lookups take no lock; insertions are
// serialised by the caller's lock. Grows; old tables stay mapped because a reader may still use them
// (together they are smaller than the newest).
class StackTable {
  public:
    // The id of the edge, or 0 if it is not in the table.
    [[nodiscard]] uint32_t find(uint32_t parent, uint64_t address) const noexcept {
        Table *table = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
        return table == nullptr ? 0 : slot(table, parent, address).id;
    }

    // Adds an edge that `find` did not return; 0 if there is no memory. Callers hold the lock.
    uint32_t add(uint32_t parent, uint64_t address) noexcept;

    // Adds one under a number of the caller's; nothing if there is no memory. A table has numbers of its own
    // or the caller's, not both.
    void put(uint32_t parent, uint64_t address, uint32_t id) noexcept;

    // The code in (begin, end] was unloaded: its edges, and those to its callees, are no longer found.
    // Callers hold the lock.
    void invalidate(uint64_t begin, uint64_t end) noexcept;

  private:
    struct Edge {
        uint64_t address; // 0: invalidated
        uint32_t parent;
        uint32_t id; // stored last, with release; 0: an empty slot
    };
    struct Table {
        size_t capacity; // a power of two
        Edge edges[1];
    };

    // The slot of an edge, and the id that was read from it. The id must not be read again: an empty slot may
    // be taken by another edge meanwhile.
    struct Slot {
        Edge *edge;
        uint32_t id;
    };

    // First among a few near its parent's, since numbers near each other are of stacks that occur together: a
    // table that outgrows the caches is then read where it was used a moment ago. The others of a parent with
    // many callees are where a hash says.
    static Slot slot(Table *table, uint32_t parent, uint64_t address) noexcept {
        constexpr size_t kNear = 4;
        const size_t mask = table->capacity - 1;
        const size_t near = size_t{parent} * 2 & mask & ~(kNear - 1);
        for (size_t at = near; at < near + kNear; ++at)
            if (const Slot found = look_at(table, at, parent, address); found.edge != nullptr) return found;
        // Recursion makes edges that differ only in the parent, so the parent must affect the low bits too.
        uint64_t hash = (address + parent * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
        for (size_t at = hash & mask;; at = (at + 1) & mask)
            if (const Slot found = look_at(table, at, parent, address); found.edge != nullptr) return found;
    }
    // The place `at` if it has the edge, or is empty; else none.
    static Slot look_at(Table *table, size_t at, uint32_t parent, uint64_t address) noexcept {
        Edge &edge = table->edges[at];
        const uint32_t id = __atomic_load_n(&edge.id, __ATOMIC_ACQUIRE);
        const bool found = id == 0 || (edge.address == address && edge.parent == parent);
        return {found ? &edge : nullptr, id};
    }
    bool store(uint32_t parent, uint64_t address, uint32_t id) noexcept;
    bool grow() noexcept;

    Table *table_ = nullptr;
    size_t used_ = 0;
};

} // namespace reap::preload
