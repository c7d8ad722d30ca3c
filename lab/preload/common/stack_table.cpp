#include "stack_table.h"

#include "platform.h"

namespace reap::preload {

uint32_t StackTable::add(uint32_t parent, uint64_t address) noexcept {
    const uint32_t id = used_ + 1;
    if (!store(parent, address, id)) return 0;
    used_ = id;
    return id;
}

void StackTable::put(uint32_t parent, uint64_t address, uint32_t id) noexcept {
    (void)store(parent, address, id);
}

bool StackTable::store(uint32_t parent, uint64_t address, uint32_t id) noexcept {
    Edge *const edge = place_for(parent, address);
    if (edge == nullptr) return false;
    edge->address = address;
    edge->parent = parent;
    __atomic_store_n(&edge->id, id, __ATOMIC_RELEASE);
    return true;
}

// An empty one; null if there is no memory.
StackTable::Edge *StackTable::place_for(uint32_t parent, uint64_t address) noexcept {
    const Segment segment(parent);
    Edge *edges = segments_[segment.number];
    if (edges == nullptr) {
        const size_t bytes = segment.count * sizeof(Edge);
        edges = static_cast<Edge *>(segment.number == 0 ? map_first_table(bytes) : map_table(bytes));
        if (edges == nullptr) return nullptr;
        __atomic_store_n(&segments_[segment.number], edges, __ATOMIC_RELEASE);
    }
    if (const Slot near = segment.slot(edges, parent, address); near.edge != nullptr) return near.edge;
    if ((table_ == nullptr || hashed_ * 2 >= table_->capacity) && !grow()) return nullptr;
    ++hashed_;
    return slot(table_, parent, address).edge;
}

void StackTable::invalidate(uint64_t begin, uint64_t end) noexcept {
    const auto forget = [=](Edge *edges, size_t count) {
        for (size_t i = 0; edges != nullptr && i < count; ++i) {
            uint64_t &address = edges[i].address;
            if (address > begin && address <= end) __atomic_store_n(&address, 0, __ATOMIC_RELAXED);
        }
    };
    for (size_t i = 0; i < kSegments; ++i) forget(segments_[i], size_t{1} << (Segment::kFirstBits + 1 + i));
    if (table_ != nullptr) forget(table_->edges, table_->capacity);
}

bool StackTable::grow() noexcept {
    constexpr size_t kFirst = 256;
    const size_t capacity = table_ == nullptr ? kFirst : table_->capacity * 2;
    auto *bigger = static_cast<Table *>(map_table(sizeof(Table) + capacity * sizeof(Edge)));
    if (bigger == nullptr) return false;
    bigger->capacity = capacity;
    for (size_t i = 0; table_ != nullptr && i < table_->capacity; ++i) {
        const Edge &edge = table_->edges[i];
        if (edge.id != 0 && edge.address != 0) *slot(bigger, edge.parent, edge.address).edge = edge;
    }
    __atomic_store_n(&table_, bigger, __ATOMIC_RELEASE);
    return true;
}

} // namespace reap::preload
