#include "totals/event_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "trace/merge.h"

namespace reap::native {
namespace {

class RowWriter {
  public:
    RowWriter(const Definitions &definitions, const Summary &summary, const CallTree &tree, size_t most,
              const std::function<void(EventRows &&)> &take)
        : definitions_(definitions), summary_(summary), tree_(tree), most_(most), take_(take) {}

    void add(const EventStream &stream, const Event &event) {
        const bool frees = event.what == What::Free || event.what == What::SampleEnd;
        const auto since = static_cast<double>(static_cast<int64_t>(event.ticks - summary_.start_ticks));
        // A damaged file's times may be beyond every integer.
        const double nanoseconds = std::clamp(since * 1e9 / summary_.ticks_per_second, -0x1p62, 0x1p62);
        rows_.nanoseconds.push_back(static_cast<int64_t>(nanoseconds));
        rows_.kinds.push_back(frees                        ? EventRows::kFree
                              : event.what == What::Failed ? EventRows::kFailure
                                                           : EventRows::kAllocation);
        rows_.calls.push_back(event.what == What::SampleEnd ? uint8_t{REAP_CALL_FREE} : event.call);
        rows_.pids.push_back(pid_of(stream.image()));
        rows_.threads.push_back(
            event.what == What::Sample || event.what == What::SampleEnd ? event.thread : stream.thread());
        rows_.addresses.push_back(event.address);
        rows_.sizes.push_back(frees ? 0 : event.size);
        rows_.nodes.push_back(frees ? CallTree::kNone : tree_.node_of(stream.image(), event.stack));
        rows_.weights.push_back(event.what == What::Sample ? event.weight() : 1.0);
        if (rows_.kinds.size() >= most_) flush();
    }

    void flush() {
        if (!rows_.kinds.empty()) take_(std::exchange(rows_, {}));
    }

  private:
    [[nodiscard]] uint32_t pid_of(uint32_t image) const noexcept {
        const int64_t at = definitions_.find(image);
        return at < 0 ? 0 : definitions_.images()[static_cast<size_t>(at)].pid;
    }

    const Definitions &definitions_;
    const Summary &summary_;
    const CallTree &tree_;
    size_t most_;
    const std::function<void(EventRows &&)> &take_;
    EventRows rows_;
};

} // namespace

void read_event_rows(BlockFile &file, const Definitions &definitions, const Summary &summary,
                     const CallTree &tree, size_t most, const std::function<void(EventRows &&)> &take) {
    RowWriter writer(definitions, summary, tree, most == 0 ? 1 : most, take);
    merge(event_streams(file), [&](EventStream &stream, const Event &event) { writer.add(stream, event); });
    writer.flush();
}

} // namespace reap::native
