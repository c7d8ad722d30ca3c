#include "totals/event_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "totals/live_table.h"
#include "totals/thread_numbers.h"
#include "trace/merge.h"

namespace reap::native {
namespace {

// What is known of a block in use.
struct Block {
    uint64_t size;
    uint32_t node;
};

class RowWriter {
  public:
    // `late`: frees of blocks that the recording does not see allocated are none of its events.
    RowWriter(const Definitions &definitions, const Summary &summary, const CallTree &tree, size_t most,
              bool matched, bool late, const std::function<void(EventRows &&)> &take)
        : definitions_(definitions), summary_(summary), tree_(tree), most_(std::max<size_t>(most, 1)),
          matched_(matched), late_(late), take_(take) {
        reserve();
    }

    void begin(const EventStream &stream) { numbers_.begin(pid_of(stream.image()), stream); }

    // Events of one thread in a row.
    void add(const EventStream &stream, std::span<const Event> events) {
        const uint32_t pid = pid_of(stream.image());
        const uint32_t thread = numbers_.of(pid, stream);
        LiveTable<Block> *const live = matched_ || late_ ? &live_[stream.image()] : nullptr;
        for (const Event &event : events) {
            const bool frees = event.what == What::Free || event.what == What::SampleEnd;
            Block block{0, CallTree::kNone};
            if (!frees) block = {event.size, tree_.node_of(stream.image(), event.stack)};
            if (live != nullptr && !match(*live, event, block) && late_) continue;
            rows_.pids.push_back(pid);
            rows_.threads.push_back(thread);
            add(event, frees, block);
            if (rows_.kinds.size() >= most_) flush();
        }
    }

    void flush() {
        if (rows_.kinds.empty()) return;
        take_(std::exchange(rows_, {}));
        reserve();
    }

  private:
    void add(const Event &event, bool frees, const Block &block) {
        const auto since = static_cast<double>(static_cast<int64_t>(event.ticks - summary_.start_ticks));
        // A damaged file's times may be beyond every integer.
        const double nanoseconds = std::clamp(since * 1e9 / summary_.ticks_per_second, -0x1p62, 0x1p62);
        rows_.nanoseconds.push_back(static_cast<int64_t>(nanoseconds));
        rows_.kinds.push_back(frees                        ? EventRows::kFree
                              : event.what == What::Failed ? EventRows::kFailure
                                                           : EventRows::kAllocation);
        rows_.calls.push_back(event.what == What::SampleEnd ? uint8_t{REAP_CALL_FREE} : event.call);
        rows_.addresses.push_back(event.address);
        rows_.sizes.push_back(block.size);
        rows_.nodes.push_back(block.node);
        rows_.weights.push_back(event.what == What::Sample ? summary_.scale.of_objects(event.weight()) : 1.0);
    }

    // Keeps a block that is allocated, and gives one that is freed, in full depth alone and if that is asked
    // for. False: the block that is freed is not known.
    bool match(LiveTable<Block> &live, const Event &event, Block &block) const {
        if (event.what == What::Alloc || event.what == What::Sample) {
            if (event.address >= LiveTable<Block>::kLowest) live.add(event.address).block = block;
        } else if (event.what != What::Failed && event.address != 0) {
            const Block *const freed = live.find(event.address);
            if (freed == nullptr) return false;
            if (matched_ && event.what == What::Free) block = *freed;
            live.remove(freed);
        }
        return true;
    }

    void reserve() {
        const size_t rows = std::min(most_, kMostReserved);
        rows_.nanoseconds.reserve(rows);
        rows_.kinds.reserve(rows);
        rows_.calls.reserve(rows);
        rows_.pids.reserve(rows);
        rows_.threads.reserve(rows);
        rows_.addresses.reserve(rows);
        rows_.sizes.reserve(rows);
        rows_.nodes.reserve(rows);
        rows_.weights.reserve(rows);
    }

    [[nodiscard]] uint32_t pid_of(uint32_t image) const noexcept {
        const int64_t at = definitions_.find(image);
        return at < 0 ? 0 : definitions_.images()[static_cast<size_t>(at)].pid;
    }

    static constexpr size_t kMostReserved = size_t{1} << 20;

    const Definitions &definitions_;
    const Summary &summary_;
    const CallTree &tree_;
    size_t most_;
    bool matched_;
    bool late_;
    const std::function<void(EventRows &&)> &take_;
    EventRows rows_;
    ThreadNumbers numbers_;
    std::map<uint32_t, LiveTable<Block>> live_; // by image
};

} // namespace

void read_event_rows(BlockFile &file, const Definitions &definitions, const Summary &summary,
                     const CallTree &tree, size_t most, bool matched,
                     const std::function<void(EventRows &&)> &take) {
    RowWriter writer(definitions, summary, tree, most, matched, file.part().begins_late(), take);
    const std::vector<std::unique_ptr<EventStream>> streams = event_streams(file);
    std::vector<EventStream *> pointers;
    pointers.reserve(streams.size());
    for (const auto &stream : streams) {
        writer.begin(*stream);
        pointers.push_back(stream.get());
    }
    merge_runs(
        pointers, kNoLimit, kNoLimit, [](EventStream &) {},
        [&writer](EventStream &stream, std::span<const Event> events) { writer.add(stream, events); },
        [](EventStream &) {});
    writer.flush();
}

} // namespace reap::native
