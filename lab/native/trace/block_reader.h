// The payloads of one owner's blocks of one kind, one after another, also while they are written.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/block_file.h"

namespace reap::native {

// Holds one payload in memory at a time, or what was committed of it since the last.
class BlockReader {
  public:
    // Whether more blocks may come, or what there is.
    enum class File : uint8_t { Growing, Whole };

    explicit BlockReader(BlockFile &file, File state = File::Whole) noexcept : file_(&file), state_(state) {}

    // Adds a block of the same owner and kind, which comes behind those with a lower sequence.
    void add(const BlockInfo &block);

    // From now on nothing more is committed to the blocks that were added.
    void close() noexcept { state_ = File::Whole; }
    [[nodiscard]] bool whole() const noexcept { return state_ == File::Whole; }

    // Reads the next piece of whole records; false where there is none, or none yet. Of a growing file, a
    // block is left when its successor in sequence is known; of a whole one the order is all that counts.
    bool next();

    // The current piece, valid until the next; it is longer in memory, as `BlockFile::payload` says.
    [[nodiscard]] const std::vector<unsigned char> &piece() const noexcept { return piece_; }
    [[nodiscard]] bool begins_block() const noexcept { return read_ == piece_.size(); }
    [[nodiscard]] const BlockInfo &block() const noexcept { return *blocks_[next_ - 1]; }

    // The block that comes first of those that are not read to their end.
    [[nodiscard]] const BlockInfo *waiting() const noexcept {
        if (next_ > 0) return blocks_[next_ - 1];
        return blocks_.empty() ? nullptr : blocks_.front();
    }

    // The last `bytes` of the piece come again with the next one.
    void unread(size_t bytes) noexcept { read_ -= static_cast<uint32_t>(bytes); }
    // What the rest of the block has makes no sense: nothing more is read of it.
    void skip_block() noexcept { skipped_ = true; }

  private:
    bool may_leave() const noexcept;

    BlockFile *file_;
    File state_;
    std::vector<const BlockInfo *> blocks_; // by sequence
    size_t next_ = 0;                       // the first that was not begun
    uint32_t read_ = 0;                     // bytes of the block before it
    bool skipped_ = false;
    std::vector<unsigned char> piece_;
};

} // namespace reap::native
