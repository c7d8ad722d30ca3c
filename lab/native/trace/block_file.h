// A trace as a table of blocks. Trusts nothing in the file.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_set>
#include <utility>
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

// Damage of a file, in numbers.
struct Damage {
    uint64_t empty = 0;     // reserved and never used: a process died, or the disk was full, right then
    uint64_t foreign = 0;   // no block where one should be
    uint64_t corrupt = 0;   // the checksum of a sealed block does not hold
    uint64_t truncated = 0; // the file ends inside a block
    uint64_t malformed = 0; // records that make no sense; the rest of their block is passed over
};

// Blocks of a trace that are read, where some are from outside beside the recorder's.
enum class View : uint8_t {
    Recorder, // all others
    Beside,   // these alone, as if it were a trace from outside
    All       // all, with the kind as the file has it: to complete the file
};

// The part of the run that a trace is of, in ticks: both are in it.
struct RunPart {
    uint64_t begin = 0;
    uint64_t end = UINT64_MAX;
    double lead = 0; // seconds from the start of the run to its begin

    [[nodiscard]] bool begins_late() const noexcept { return begin != 0; }
};

class BlockFile {
  public:
    // Opens a trace, which may be compressed, and reads the heads of its blocks. A short one comes before the
    // block that it is within. Throws std::system_error when it cannot be read, BadTrace when it is no trace.
    explicit BlockFile(const std::string &path, View view = View::Recorder);

    [[nodiscard]] View view() const noexcept { return view_; }
    // Header of the trace. Of a part of the run its start is that of the part, and its end no later.
    [[nodiscard]] const reap_file_header &header() const noexcept { return header_; }
    [[nodiscard]] const RunPart &part() const noexcept { return part_; }
    // Start of the run in nanoseconds since 1970: before any part of it that the trace is of.
    [[nodiscard]] uint64_t began_unix_ns() const noexcept { return began_unix_ns_; }
    // Whether a triage recording has every event, as of a program that has few.
    [[nodiscard]] bool is_exact() const noexcept;
    // Makes `header()` call such a recording one of full depth, as all that reads events then gives its
    // figures. Not for a file that grows, where it may become wrong.
    void use_every_event() noexcept {
        if (is_exact()) header_.depth = REAP_DEPTH_FULL;
    }
    // Whether old blocks are taken out of it: those of a thread may have gaps.
    [[nodiscard]] bool is_ring() const noexcept {
        return header_.part.ring_ticks != 0 || header_.part.ring_blocks != 0;
    }
    // Ticks of the trace's clock in a second: exact where the trace was closed, else estimated.
    [[nodiscard]] double ticks_per_second() const noexcept { return ticks_per_second_; }
    // Labels of the recording, as (key, value). Damaged ones are left out.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> labels();
    // Blocks in the order in which they were found; one that was added stays where it is.
    [[nodiscard]] const std::deque<BlockInfo> &blocks() const noexcept { return blocks_; }
    [[nodiscard]] Damage &damage() noexcept { return damage_; }
    [[nodiscard]] bool compressed() const noexcept { return file_.compressed(); }
    [[nodiscard]] const std::string &path() const noexcept { return path_; }

    // Reads the committed payload of a block into `out`, which is a little longer in memory than its size()
    // so that a RecordReader may look behind the end; without its first `from` bytes. False, and counted as
    // damage, when a sealed block's checksum does not hold or the file is shorter than that. The checksum is
    // of the whole payload alone.
    bool payload(const BlockInfo &block, std::vector<unsigned char> &out, uint32_t from = 0);

    // Reads on in a file that grows: the heads of blocks begun since, and then again those of open blocks. So
    // a block whose successor is in `blocks()` has all that its writer put there. Blocks of the images in
    // `ended` are read here for the last time. Takes a read call for each new and each open block. Throws
    // BadTrace when the file was cut short or written over meanwhile.
    void update(const std::unordered_set<uint32_t> &ended);
    // Does the first half of `update`.
    void find_new_blocks();
    // Spares this block from being read again by `update`.
    void close(const BlockInfo &block) { closed_.insert(&block); }

  private:
    // Place where a block may begin; `kind` and `image` are those of a short one.
    struct Place {
        uint64_t index;
        uint64_t offset;
        uint32_t room;
        uint16_t kind;
        uint32_t image;
    };

    void read_header();
    void find_part();
    void show_beside();
    void scan();
    void look_at(const Place &place);
    void add_block(BlockInfo block);
    bool read_again(BlockInfo &block);
    bool was_dropped(const BlockInfo &block);

    std::string path_;
    View view_;
    ZstdFile file_;
    reap_file_header header_{};
    RunPart part_;
    uint64_t began_unix_ns_ = 0;
    double ticks_per_second_ = 1e9;
    std::deque<BlockInfo> blocks_;
    uint64_t next_ = 1;            // the first block that nobody has looked at
    uint64_t missing_ = 0;         // blocks behind the end of the file
    std::vector<Place> not_begun_; // places that have no head yet
    std::vector<BlockInfo *> open_;
    std::unordered_set<const BlockInfo *> closed_;
    Damage damage_;
};

} // namespace reap::native
