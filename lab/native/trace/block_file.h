// A trace as a table of blocks. Trusts nothing in the file.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "files/zstd_file.h"
#include "reap_trace.h"

namespace reap::native {

// A thread's number beyond this is damage and not a program with that many.
inline constexpr uint32_t kMostThreads = 1 << 20;

struct BlockInfo {
    uint64_t index; // in blocks from the start of the file
    reap_block_header head;
    uint64_t offset; // of the head, in bytes: within the block for a short one
    uint32_t room;   // for its payload

    [[nodiscard]] bool is_within() const noexcept { return room != REAP_PAYLOAD_BYTES; }
};

// What was wrong with a file, in numbers.
struct Damage {
    uint64_t empty = 0;     // reserved and never used: a process died, or the disk was full, right then
    uint64_t foreign = 0;   // no block where one should be
    uint64_t corrupt = 0;   // the checksum of a sealed block does not hold
    uint64_t truncated = 0; // the file ends inside a block
    uint64_t malformed = 0; // records that make no sense; the rest of their block is passed over
};

class BlockFile {
  public:
    // Opens a trace, which may be compressed, and reads the heads of its blocks. A short one comes before the
    // block that it is within. Throws std::system_error when it cannot be read, BadTrace when it is no trace.
    explicit BlockFile(const std::string &path);

    [[nodiscard]] const reap_file_header &header() const noexcept { return header_; }
    [[nodiscard]] const std::vector<BlockInfo> &blocks() const noexcept { return blocks_; }
    [[nodiscard]] Damage &damage() noexcept { return damage_; }
    [[nodiscard]] bool compressed() const noexcept { return file_.compressed(); }
    [[nodiscard]] const std::string &path() const noexcept { return path_; }

    // Reads the committed payload of a block into `out`, which is a little longer in memory than its size()
    // so that a RecordReader may look behind the end. False, and counted as damage, when a sealed block's
    // checksum does not hold or the file is shorter than that.
    bool payload(const BlockInfo &block, std::vector<unsigned char> &out);

  private:
    void add_block(BlockInfo block);
    void add_blocks_within(const BlockInfo &block);

    std::string path_;
    ZstdFile file_;
    reap_file_header header_{};
    std::vector<BlockInfo> blocks_;
    Damage damage_;
};

} // namespace reap::native
