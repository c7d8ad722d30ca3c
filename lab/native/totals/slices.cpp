#include "totals/slices.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>

#include "totals/live_table.h"
#include "totals/thread_numbers.h"
#include "trace/merge.h"

namespace reap::native {
namespace {

constexpr uint32_t kNone = CallTree::kNone;

// A block in use.
struct Held {
    uint64_t size;
    uint32_t entry;
    uint32_t slice;  // of its allocation
    uint32_t stamp;  // of an Alloc its number in its process, of a Sample the clock of its thread
    uint32_t thread; // of a Sample
    double weight;
};

class Slicer {
  public:
    Slicer(const Definitions &definitions, const Summary &summary, const CallTree &tree,
           std::span<const uint32_t> groups, uint32_t count)
        : definitions_(definitions), tree_(tree), groups_(groups), count_(std::max(count, 1u)),
          scale_(summary.scale), start_(summary.start_ticks) {
        const uint64_t whole = summary.last_ticks > start_ ? summary.last_ticks - start_ : 0;
        out_.width = whole / count_ + 1;
        end_ = end_of(0);
    }

    void begin(EventStream &stream) {
        const auto [known, fresh] = places_.try_emplace(stream.image(), images_.size());
        if (fresh) {
            images_.emplace_back().number = stream.image();
            const int64_t at = definitions_.find(stream.image());
            images_.back().pid = at < 0 ? 0 : definitions_.images()[static_cast<size_t>(at)].pid;
        }
        stream.place = known->second;
        ++images_[known->second].streams;
        numbers_.begin(images_[known->second].pid, stream);
    }

    // Events of one thread in a row.
    void handle(const EventStream &stream, std::span<const Event> events) {
        Image &image = images_[stream.place];
        Thread &thread = image.of(stream.thread());
        if (thread.successors != stream.successors()) {
            thread.successors = stream.successors();
            thread.number = numbers_.of(image.pid, stream);
            thread.by = kNone;
        }
        for (const Event &event : events) handle(image, stream, event);
    }

    // Behind the last event of an image: what it has in use goes back to the system.
    void ended(const EventStream &stream) {
        Image &image = images_[stream.place];
        if (--image.streams > 0) return;
        image.live.each([this](uint64_t, const Held &block) {
            exits_[{block.slice, block.entry}] += amount(block);
            remove(block);
        });
        image.live.clear();
    }

    CallSlices finish() {
        next_slice();
        for (const auto &[key, bytes] : exits_) {
            add_row(key.first, entries_[key.second]).values[CallTree::kAtExit].back() = bytes;
        }
        return std::move(out_);
    }

  private:
    // What a thread allocates from a group.
    struct Entry {
        uint32_t group;
        uint32_t by;
        double live = 0;
        double high = 0;    // when the slice had most in use, as of `epoch`
        uint64_t epoch = 0; // which such moment
        double objects = 0; // of this slice
        double bytes = 0;
        double temporary = 0;
    };
    struct Thread {
        uint32_t last = 0;                // the number of its last allocation
        uint32_t successors = UINT32_MAX; // of its stream, as of its latest events
        uint32_t number = 0;              // as ThreadNumbers has it
        uint32_t by = kNone;              // its place in the output
    };
    struct Image {
        uint32_t number = 0;
        uint32_t pid = 0;
        uint32_t streams = 0;
        uint32_t allocations = 0;
        std::map<uint32_t, Thread> threads;
        Thread *latest = nullptr;
        uint32_t latest_number = 0;
        LiveTable<Held> live;

        Thread &of(uint32_t thread) {
            if (latest == nullptr || latest_number != thread) {
                latest = &threads[thread];
                latest_number = thread;
            }
            return *latest;
        }
    };

    void handle(Image &image, const EventStream &stream, const Event &event) {
        // The last one has no end, not even where damage gives an event the largest stamp there is.
        while (slice_ + 1 < count_ && event.ticks >= end_) next_slice();
        switch (event.what) {
        case What::Alloc:
            put_in(image, stream.thread(), event, 1, ++image.allocations);
            image.of(stream.thread()).last = image.allocations;
            break;
        case What::Free:
            take_out(image, event, image.of(stream.thread()).last);
            break;
        case What::Failed:
            break;
        case What::Sample:
            put_in(image, event.thread, event, event.weight(), static_cast<uint32_t>(event.clock));
            break;
        case What::SampleEnd:
            take_out(image, event, static_cast<uint32_t>(event.clock));
            break;
        }
    }

    static double amount(const Held &block) { return block.weight * static_cast<double>(block.size); }

    [[nodiscard]] uint64_t end_of(uint32_t slice) const {
        const uint64_t ends = out_.width * (uint64_t{slice} + 1);
        return slice + 1 >= count_ || ends > std::numeric_limits<uint64_t>::max() - start_
                   ? std::numeric_limits<uint64_t>::max()
                   : start_ + ends;
    }

    uint32_t entry(Image &image, uint32_t number, uint32_t stack) {
        const uint32_t node = tree_.node_of(image.number, stack);
        const uint32_t group = node < groups_.size() ? groups_[node] : kNone;
        if (group == kNone) return kNone;
        Thread &thread = image.of(number);
        if (thread.by == kNone) {
            const auto [known, fresh] = known_threads_.try_emplace(
                {image.pid, thread.number}, static_cast<uint32_t>(out_.threads.size()));
            if (fresh) out_.threads.emplace_back(image.pid, thread.number);
            thread.by = known->second;
        }
        if (group >= latest_.size()) latest_.resize(group + size_t{1}, kNone);
        uint32_t &place = latest_[group];
        if (place == kNone || entries_[place].by != thread.by) {
            const uint64_t key = uint64_t{thread.by} << 32 | group;
            const auto [known, fresh] =
                known_entries_.try_emplace(key, static_cast<uint32_t>(entries_.size()));
            if (fresh) entries_.push_back({group, thread.by});
            place = known->second;
        }
        return place;
    }

    // An entry whose `high` is of the latest moment.
    Entry &current(uint32_t place) {
        Entry &entry = entries_[place];
        if (entry.epoch < epoch_) {
            entry.high = entry.live;
            entry.epoch = epoch_;
        }
        return entry;
    }

    void put_in(Image &image, uint32_t thread, const Event &event, double weight, uint32_t stamp) {
        const uint32_t place = entry(image, thread, event.stack);
        if (place == kNone) return;
        Entry &from = current(place);
        const Held block{event.size, place, slice_, stamp, thread, weight};
        from.objects += scale_.of_objects(weight);
        from.bytes += scale_.of_bytes(weight) * static_cast<double>(event.size);
        if (event.what == What::Sample && event.period == 0) return; // nothing is known of its life
        from.live += amount(block);
        live_ += amount(block);
        if (event.address >= LiveTable<Held>::kLowest) {
            const auto at = image.live.add(event.address);
            if (!at.fresh) remove(at.block); // a free that was not seen ended it
            at.block = block;
        }
        if (live_ > most_) {
            most_ = live_;
            ++epoch_;
        }
    }

    void take_out(Image &image, const Event &event, uint32_t stamp) {
        const Held *block = image.live.find(event.address);
        if (block == nullptr) return;
        const bool same = event.what == What::Free || block->thread == event.thread;
        if (same && block->stamp == stamp)
            current(block->entry).temporary += scale_.of_objects(block->weight);
        remove(*block);
        image.live.remove(block);
    }

    void remove(const Held &block) {
        current(block.entry).live -= amount(block);
        live_ -= amount(block);
    }

    CallSlices &add_row(uint32_t slice, const Entry &entry) {
        out_.groups.push_back(entry.group);
        out_.by.push_back(entry.by);
        out_.slices.push_back(slice);
        for (std::vector<double> &column : out_.values) column.push_back(0);
        return out_;
    }

    void next_slice() {
        for (uint32_t place = 0; place < entries_.size(); ++place) {
            Entry &entry = current(place);
            if (entry.objects == 0 && entry.temporary == 0 && entry.high == 0) continue;
            auto &values = add_row(slice_, entry).values;
            values[CallTree::kAllocations].back() = entry.objects;
            values[CallTree::kBytes].back() = entry.bytes;
            values[CallTree::kTemporary].back() = entry.temporary;
            values[CallTree::kAtPeak].back() = std::max(entry.high, 0.0);
            entry.objects = entry.bytes = entry.temporary = 0;
        }
        most_ = live_;
        ++epoch_;
        end_ = end_of(++slice_);
    }

    const Definitions &definitions_;
    const CallTree &tree_;
    std::span<const uint32_t> groups_;
    uint32_t count_;
    Scale scale_;
    uint64_t start_;
    uint64_t end_ = 0; // of the slice
    uint32_t slice_ = 0;
    double live_ = 0;
    double most_ = 0; // in use at once in the slice
    uint64_t epoch_ = 0;
    CallSlices out_;
    std::vector<Entry> entries_;
    std::vector<Image> images_; // complete while events are read
    std::map<uint32_t, size_t> places_;
    ThreadNumbers numbers_;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> known_threads_; // by pid and number
    std::unordered_map<uint64_t, uint32_t> known_entries_;            // by thread and group
    std::vector<uint32_t> latest_;                                    // by group, the entry used last
    std::map<std::pair<uint32_t, uint32_t>, double> exits_;           // by slice and entry
};

} // namespace

CallSlices call_slices(BlockFile &file, const Definitions &definitions, const Summary &summary,
                       const CallTree &tree, std::span<const uint32_t> groups, uint32_t count) {
    Slicer slicer(definitions, summary, tree, groups, count);
    const std::vector<std::unique_ptr<EventStream>> streams = event_streams(file);
    std::vector<EventStream *> pointers;
    pointers.reserve(streams.size());
    for (const auto &stream : streams) {
        slicer.begin(*stream);
        pointers.push_back(stream.get());
    }
    merge_runs(
        pointers, kNoLimit, kNoLimit, [](EventStream &) {},
        [&slicer](EventStream &stream, std::span<const Event> events) { slicer.handle(stream, events); },
        [&slicer](EventStream &stream) { slicer.ended(stream); });
    return slicer.finish();
}

} // namespace reap::native
