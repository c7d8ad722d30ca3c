#include "stack_table.h"

#include "platform.h"

namespace reap::preload {

uint32_t StackTable::add(uint32_t parent, uint64_t address) noexcept {
    const auto id = static_cast<uint32_t>(used_ + 1);
    return store(parent, address, id) ? id : 0;
}

void StackTable::put(uint32_t parent, uint64_t address, uint32_t id) noexcept {
    (void)store(parent, address, id);
}

bool StackTable::store(uint32_t parent, uint64_t address, uint32_t id) noexcept {
    if ((table_ == nullptr || used_ * 2 >= table_->capacity) && !grow()) return false;
    Edge *edge = slot(table_, parent, address).edge;
    edge->address = address;
    edge->parent = parent;
    ++used_;
    __atomic_store_n(&edge->id, id, __ATOMIC_RELEASE);
    return true;
}

void StackTable::invalidate(uint64_t begin, uint64_t end) noexcept {
    for (size_t i = 0; table_ != nullptr && i < table_->capacity; ++i) {
        uint64_t &address = table_->edges[i].address;
        if (address > begin && address <= end) __atomic_store_n(&address, 0, __ATOMIC_RELAXED);
    }
}

bool StackTable::grow() noexcept {
    constexpr size_t kFirst = 64;
    const size_t capacity = table_ == nullptr ? kFirst : table_->capacity * 2;
    const size_t bytes = sizeof(Table) + capacity * sizeof(Edge);
    auto *bigger = static_cast<Table *>(table_ == nullptr ? map_first_table(bytes) : map_private(bytes));
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
