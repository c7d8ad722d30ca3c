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
    [[nodiscard]] uint32_t find(uint32_t parent, uint64_t address) const noexcept;

    // Adds an edge that `find` did not return; 0 if there is no memory. Callers hold the lock.
    uint32_t add(uint32_t parent, uint64_t address) noexcept;

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

    static Slot slot(Table *table, uint32_t parent, uint64_t address) noexcept;
    bool grow() noexcept;

    Table *table_ = nullptr;
    size_t used_ = 0;
};

} // namespace reap::preload
