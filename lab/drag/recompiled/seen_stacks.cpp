#include "seen_stacks.h"

#include <cstring>

#include "platform.h"

namespace reap::drag {

void SeenStacks::add(uint64_t hash, uint32_t number) noexcept {
    if (count_ > mask() / 4 * 3 && !grow()) return;
    size_t at = hash >> shift_;
    while (entries_[at] != 0) at = (at + 1) & mask();
    entries_[at] = hash << kNumberBits | number;
    ++count_;
}

bool SeenStacks::grow() noexcept {
    if (64 - shift_ == kMostBits) return false;
    const size_t before = (mask() + 1) * sizeof(Entry);
    auto *larger = static_cast<Entry *>(preload::map_private(2 * before));
    if (larger == nullptr) return false;
    if (entries_ != first_) munmap(entries_, before);
    entries_ = larger;
    --shift_;
    count_ = 0;
    return true;
}

void SeenStacks::clear() noexcept {
    memset(entries_, 0, (mask() + 1) * sizeof(Entry));
    count_ = 0;
}

} // namespace reap::drag
