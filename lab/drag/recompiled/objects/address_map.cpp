#include "objects/address_map.h"

#include "platform.h"

namespace reap::drag {

// Neighbours are together here, too.
size_t AddressMap::home(uintptr_t address) const noexcept {
    return (address >> 4 ^ address >> 25) & (count_ - 1);
}

AddressMap::Entry *AddressMap::place_of(uintptr_t address) noexcept {
    size_t i = home(address);
    while (entries_[i].address != 0 && entries_[i].address != address) i = (i + 1) & (count_ - 1);
    return &entries_[i];
}

AddressMap::Entry *AddressMap::find(uintptr_t address) noexcept {
    if (filled_ == 0) return nullptr;
    Entry *entry = place_of(address);
    return entry->address == 0 ? nullptr : entry;
}

bool AddressMap::grow() noexcept {
    constexpr size_t kFirst = 4096;
    const size_t count = count_ == 0 ? kFirst : count_ * 2;
    auto *fresh = static_cast<Entry *>(preload::map_private(count * sizeof(Entry)));
    if (fresh == nullptr) return false;
    Entry *old = entries_;
    const size_t before = count_;
    entries_ = fresh;
    count_ = count;
    for (size_t i = 0; i < before; ++i)
        if (old[i].address != 0) *place_of(old[i].address) = old[i];
    if (old != nullptr) munmap(old, before * sizeof(Entry));
    return true;
}

bool AddressMap::add(uintptr_t address, uintptr_t word) noexcept {
    if ((filled_ + 1) * 5 > count_ * 4 && !grow()) return false;
    *place_of(address) = {address, word};
    ++filled_;
    return true;
}

// Those behind it move up, as far as each may.
void AddressMap::remove(Entry *entry) noexcept {
    const size_t mask = count_ - 1;
    auto hole = static_cast<size_t>(entry - entries_);
    for (size_t i = (hole + 1) & mask; entries_[i].address != 0; i = (i + 1) & mask) {
        if (((i - home(entries_[i].address)) & mask) < ((i - hole) & mask)) continue;
        entries_[hole] = entries_[i];
        hole = i;
    }
    entries_[hole].address = 0;
    --filled_;
}

} // namespace reap::drag
