// Call stacks as small numbers: a tree of return addresses in which every edge is known once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// A concurrent hash set of edges (parent frame, return address) -> frame id. Looking up takes no lock; adding
// is done by one thread at a time (the caller's lock). Grows; old tables stay mapped because a reader may be
// in them (together they are smaller than the newest).
class StackTable {
  public:
    // The id of the edge, or 0 when it is not known yet.
    [[nodiscard]] uint32_t find(uint32_t parent, uint64_t address) const noexcept;

    // Adds an edge that `find` did not know; 0 when there is no memory. Callers hold the lock.
    uint32_t add(uint32_t parent, uint64_t address) noexcept;

    // What lay in (begin, end] is not there any more: its edges, and those to frames below it, are not found
    // again. Callers hold the lock.
    void forget(uint64_t begin, uint64_t end) noexcept;

  private:
    struct Edge {
        uint64_t address; // 0: forgotten
        uint32_t parent;
        uint32_t id; // release store, last; 0 is an empty place
    };
    struct Table {
        size_t capacity; // a power of two
        Edge edges[1];
    };

    // Where an edge is, or would be, and the id that was seen there: what was empty may be taken by another
    // edge a moment later, so that nobody may read the id of a place again.
    struct Place {
        Edge *edge;
        uint32_t id;
    };

    static Place place(Table *table, uint32_t parent, uint64_t address) noexcept;
    bool grow() noexcept;

    Table *table_ = nullptr;
    size_t used_ = 0;
};

} // namespace reap::preload
