#include "trace/block_reader.h"

#include <algorithm>

namespace reap::native {

void BlockReader::add(const BlockInfo &block) {
    const auto place = std::upper_bound(
        blocks_.begin() + static_cast<long>(next_), blocks_.end(), &block,
        [](const BlockInfo *a, const BlockInfo *b) { return a->head.sequence < b->head.sequence; });
    blocks_.insert(place, &block);
}

bool BlockReader::may_leave() const noexcept {
    if (next_ == blocks_.size()) return false;
    const uint32_t wanted = next_ == 0 ? 0 : blocks_[next_ - 1]->head.sequence + 1;
    return state_ == File::Whole || file_->is_ring() || blocks_[next_]->head.sequence == wanted;
}

bool BlockReader::next() {
    if (next_ > 0 && !skipped_ && block().head.committed > read_) {
        const uint32_t from = read_;
        read_ = block().head.committed;
        if (file_->payload(block(), piece_, from)) return true;
        skipped_ = true;
    }
    while (may_leave()) {
        if (next_ > 0 && state_ == File::Growing) file_->close(block());
        ++next_;
        skipped_ = false;
        read_ = block().head.committed;
        if (file_->payload(block(), piece_)) {
            if (!piece_.empty()) return true;
        } else {
            skipped_ = true;
        }
    }
    piece_ = {};
    return false;
}

} // namespace reap::native
