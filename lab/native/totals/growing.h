// A recording that is read while it is made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "totals/aggregator.h"
#include "trace/block_file.h"
#include "trace/definitions.h"

namespace reap::native {

// Each `update` reads what was written since the last. It only reads, so the recorded program does not notice
// it. Memory is that of `aggregate`.
class Growing {
  public:
    // Throws what BlockFile throws. Reads heads and definitions alone.
    explicit Growing(const std::string &path);

    // Takes what is new, by increasing stamp, up to about `most` events; true where more are waiting. Besides
    // the new bytes it takes a system call for each open block, 37 KB of counters for each thread that runs
    // in triage, and a read of /proc/PID/stat for each process. `last`: nothing more is written, and all is
    // taken. Else events of the last 50 ms wait: a thread may have been interrupted before it wrote what it
    // did, and another that depends on it is read first. Throws BadTrace where the file was cut short.
    bool update(uint64_t most, bool last);

    // Of the whole tree, so far.
    struct Now {
        uint64_t objects = 0;
        uint64_t bytes = 0;
        uint64_t frees = 0;
        double live_bytes = 0; // in triage estimated from samples
        double peak_bytes = 0; // the most of it
        uint64_t samples = 0;
        uint64_t resident = 0;      // as the launcher measured it last; 0: not yet. If attached, as of now
        uint64_t peak_resident = 0; // the most it measured
        uint64_t measurements = 0;  // how often it did
        uint64_t processes = 0;     // images that began
        uint64_t running = 0;       // and those whose process is there and has executed no other program
        double seconds = 0;         // from the start to the last event or measurement that was taken
        double last_event = 0;      // the same of events alone; if attached, they come in some at a time
    };
    [[nodiscard]] const Now &now() const noexcept { return now_; }

    // Allocations since the start, by size.
    [[nodiscard]] const BySize &by_size() const noexcept { return by_size_; }

    // What one stack has in use, and what it allocated since the last call of `stacks`.
    struct Row {
        uint32_t image;
        uint32_t stack;
        double live_bytes;
        double objects;
        double bytes;
    };
    // The `most` stacks with most bytes in use, and as many that allocated most bytes since the last call. In
    // time proportional to all stacks.
    std::vector<Row> stacks(size_t most);

    [[nodiscard]] BlockFile &file() noexcept { return file_; }
    [[nodiscard]] const Definitions &definitions() const noexcept { return definitions_; }

  private:
    struct Process {
        uint32_t pid;
        uint64_t start;
    };
    using Images = std::unordered_set<uint32_t>;

    void find_images();
    Images take_ended(bool last);
    void sort_blocks();
    bool take_events(uint64_t horizon, uint64_t most);
    void read_counts(const Images &ended);
    void read_outside();
    void measure_resident();
    [[nodiscard]] double seconds(uint64_t ticks) const noexcept;

    BlockFile file_;
    Definitions definitions_;
    Aggregator all_;
    std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<EventStream>> streams_; // by image and thread
    BlockReader outside_;
    size_t in_images_ = 0;                          // blocks of the file that `find_images` has seen
    size_t sorted_ = 0;                             // and `sort_blocks`
    std::map<uint32_t, Process> running_;           // by image
    std::unordered_map<uint32_t, uint32_t> latest_; // image by pid
    std::vector<const BlockInfo *> counts_;         // of images that run
    BySize ended_by_size_;                          // of the others
    uint64_t ended_frees_ = 0;
    BySize by_size_;
    std::unordered_map<uint32_t, std::vector<std::pair<double, double>>> before_; // at the last `stacks`
    Now now_;
};

} // namespace reap::native
