#include "seen_stacks.h"

#include <cstring>

#include "platform.h"

namespace reap::drag {

void SeenStacks::add(uint64_t hash, uint32_t number) noexcept {
    if (count_ > mask() / 2 && !grow()) return;
    size_t at = hash >> shift_;
    while (entries_[at].hash != 0) at = (at + 1) & mask();
    entries_[at] = {hash, number};
    ++count_;
}

bool SeenStacks::grow() noexcept {
    if (64 - shift_ == kMostBits) return false;
    const size_t before = mask() + 1;
    auto *larger = static_cast<Entry *>(preload::map_private(2 * before * sizeof(Entry)));
    if (larger == nullptr) return false;
    Entry *const old = entries_;
    entries_ = larger;
    --shift_;
    count_ = 0;
    for (size_t i = 0; i < before; ++i) {
        if (old[i].hash != 0) add(old[i].hash, old[i].number);
    }
    if (old != first_) munmap(old, before * sizeof(Entry));
    return true;
}

void SeenStacks::clear() noexcept {
    memset(entries_, 0, (mask() + 1) * sizeof(Entry));
    count_ = 0;
}

} // namespace reap::drag
