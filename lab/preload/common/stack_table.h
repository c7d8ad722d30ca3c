// Call stacks as small numbers: a tree of return addresses with each edge stored once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// A concurrent map (parent frame, return address) -> frame id. Lookups take no lock; insertions are
// serialised by the caller's lock.
//
// Each parent has a few places near those of the parents with the next numbers, since numbers near each other
// are of stacks that occur together: a table that outgrows the caches is read where it was used a moment ago.
// They are in segments, each as large as all before it, so that they stay where they are when the table
// grows. What a parent with many callees has no place for is in a hash table; old ones stay mapped because a
// reader may still use them (together they are smaller than the newest).
class StackTable {
  public:
    // The id of the edge, or 0 if it is not in the table.
    [[nodiscard]] uint32_t find(uint32_t parent, uint64_t address) const noexcept {
        const Segment segment(parent);
        Edge *const edges = __atomic_load_n(&segments_[segment.number], __ATOMIC_ACQUIRE);
        if (edges == nullptr) return 0;
        const Slot near = segment.slot(edges, parent, address);
        if (near.edge != nullptr) return near.id;
        Table *const table = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
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

    static Slot slot(Table *table, uint32_t parent, uint64_t address) noexcept {
        // Recursion makes edges that differ only in the parent, so the parent must affect the low bits too.
        uint64_t hash = (address + parent * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
        const size_t mask = table->capacity - 1;
        for (size_t at = hash & mask;; at = (at + 1) & mask)
            if (const Slot found = look_at(table->edges[at], parent, address); found.edge != nullptr)
                return found;
    }
    // The place if it has the edge, or is empty; else none.
    static Slot look_at(Edge &edge, uint32_t parent, uint64_t address) noexcept {
        const uint32_t id = __atomic_load_n(&edge.id, __ATOMIC_ACQUIRE);
        const bool found = id == 0 || (edge.address == address && edge.parent == parent);
        return {found ? &edge : nullptr, id};
    }

    // Where the places of a parent are.
    struct Segment {
        static constexpr unsigned kFirstBits = 5; // of the first segment's parents
        static constexpr size_t kEach = 2;        // places for each parent
        static constexpr size_t kLine = 64 / sizeof(Edge);

        unsigned number;
        size_t count; // places
        size_t first; // the parent's

        explicit Segment(uint32_t parent) noexcept {
            const uint64_t place = (uint64_t{parent} + (1u << kFirstBits)) * kEach;
            const auto bits = 63u - static_cast<unsigned>(__builtin_clzll(place));
            number = bits - kFirstBits - 1;
            count = size_t{1} << bits;
            first = place & (count - 1) & ~(kLine - 1);
        }
        // In two lines of the cache; none if all are taken by others.
        Slot slot(Edge *edges, uint32_t parent, uint64_t address) const noexcept {
            for (size_t i = 0; i < 2 * kLine; ++i) {
                Edge &edge = edges[(first + i) & (count - 1)];
                if (const Slot found = look_at(edge, parent, address); found.edge != nullptr) return found;
            }
            return {nullptr, 0};
        }
    };
    static constexpr size_t kSegments = 33 - Segment::kFirstBits; // for all numbers of 32 bits

    bool store(uint32_t parent, uint64_t address, uint32_t id) noexcept;
    Edge *place_for(uint32_t parent, uint64_t address) noexcept;
    bool grow() noexcept;

    Edge *segments_[kSegments] = {};
    Table *table_ = nullptr;
    size_t hashed_ = 0; // edges in `table_`
    uint32_t used_ = 0; // numbers
};

} // namespace reap::preload
