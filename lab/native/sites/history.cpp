#include "sites/history.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "totals/live_table.h"
#include "trace/merge.h"

namespace reap::native {
namespace {

constexpr uint32_t kLeastRow = SiteHistories::kLeastRow;
constexpr uint64_t kClockOfCall = 16; // bytes by which a thread's clock advances beside the size
constexpr uint64_t kFinest = 4;       // parts of a step that the sizes of blocks may make of it

// A block in use.
struct Kept {
    uint64_t size;
    uint64_t clock; // of a Sample, its thread's
    uint64_t step;  // by how much it is larger than the block that it replaced
    uint32_t row;   // of equal steps, up to this one
    uint32_t site;
    uint32_t thread;
    float weight;

    [[nodiscard]] double bytes() const noexcept { return weight * static_cast<double>(size); }
};

// The block that a thread allocated last from a site, until the next block of the site is freed.
struct Latest {
    uint64_t address = 0;
    uint64_t size = 0;
};

class Historian {
  public:
    Historian(const Definitions &definitions, const Summary &summary, std::span<const SiteStack> stacks,
              uint32_t sites, uint32_t slices)
        : definitions_(definitions), scale_(summary.scale), start_(summary.start_ticks), rest_(sites),
          slices_(std::max(slices, 1u)) {
        const uint64_t whole = summary.last_ticks > start_ ? summary.last_ticks - start_ : 0;
        out_.width = whole / slices_ + 1;
        all_.resize(sites + size_t{1});
        for (SiteHistory &each : all_) {
            each.floors.resize(slices_);
            each.freed.resize(slices_);
        }
        live_.resize(all_.size());
        out_.floors.resize(slices_);
        for (const SiteStack &each : stacks) {
            std::vector<uint32_t> &known = site_of_[each.image];
            if (each.stack >= definitions_.frame_limit(each.image) || each.site >= rest_) continue;
            if (each.stack >= known.size()) known.resize(each.stack + size_t{1}, rest_);
            known[each.stack] = each.site;
        }
    }

    void begin(EventStream &stream) {
        const auto [known, fresh] = places_.try_emplace(stream.image(), images_.size());
        if (fresh) images_.emplace_back().sites = std::move(site_of_[stream.image()]);
        stream.place = known->second;
        ++images_[known->second].streams;
    }

    // Events of one thread in a row.
    void handle(const EventStream &stream, std::span<const Event> events) {
        Image &image = images_[stream.place];
        Thread &thread = image.threads[stream.thread()];
        for (const Event &event : events) {
            while (slice_ + 1 < slices_ && event.ticks >= start_ + out_.width * (slice_ + uint64_t{1}))
                next_slice();
            handle(image, thread, stream.thread(), event);
        }
    }

    // Behind the last event of an image: what it has in use goes back to the system.
    void ended(const EventStream &stream) {
        Image &image = images_[stream.place];
        if (--image.streams > 0) return;
        image.live.each([this](uint64_t, const Kept &block) {
            live_[block.site] -= block.bytes();
            in_use_ -= block.bytes();
        });
        image.live.clear();
        image.threads.clear();
    }

    SiteHistories finish(bool whole) {
        while (slice_ + 1 < slices_) next_slice();
        for (SiteHistory &each : all_) settle(each);
        out_.whole = whole;
        out_.rest = std::move(all_.back());
        all_.pop_back();
        out_.sites = std::move(all_);
        return std::move(out_);
    }

  private:
    struct Thread {
        std::vector<Latest> latest; // by site
        Kept reallocated{};         // what its realloc freed, until that has allocated
        uint64_t reallocated_from = 0;
    };
    struct Image {
        uint32_t streams = 0;
        std::vector<uint32_t> sites; // by stack
        std::map<uint32_t, Thread> threads;
        LiveTable<Kept> live;
    };

    void handle(Image &image, Thread &thread, uint32_t number, const Event &event) {
        switch (event.what) {
        case What::Alloc:
            allocate(image, thread, event, {event.size, 0, 0, 0, rest_, number, 1});
            break;
        case What::Free:
            free(image, thread, event);
            break;
        case What::Failed:
            break;
        case What::Sample:
            if (event.period == 0) break; // nothing is known of its life
            allocate(
                image, thread, event,
                {event.size, event.clock, 0, 0, rest_, event.thread, static_cast<float>(event.weight())});
            break;
        case What::SampleEnd:
            end(image, event);
            break;
        }
    }

    void allocate(Image &image, Thread &thread, const Event &event, Kept block) {
        block.site = event.stack < image.sites.size() ? image.sites[event.stack] : rest_;
        SiteHistory &history = all_[block.site];
        history.objects += scale_.of_objects(block.weight);
        history.bytes += scale_.of_bytes(block.weight) * static_cast<double>(event.size);
        const bool by_realloc = event.call == REAP_CALL_REALLOC || event.call == REAP_CALL_REALLOCARRAY;
        if (by_realloc) history.reallocated += scale_.of_objects(block.weight);
        if (event.what == What::Alloc && block.site != rest_) {
            if (event.by_realloc && thread.reallocated.site == block.site && thread.reallocated.weight > 0)
                replace(thread.reallocated, block, thread.reallocated_from != event.address);
            if (thread.latest.size() < rest_) thread.latest.resize(rest_);
            thread.latest[block.site] = event.by_realloc ? Latest{} : Latest{event.address, event.size};
        }
        thread.reallocated.weight = 0;
        if (event.address < LiveTable<Kept>::kLowest) return;
        live_[block.site] += block.bytes();
        in_use_ += block.bytes();
        history.most = std::max(history.most, live_[block.site]);
        const auto at = image.live.add(event.address);
        if (!at.fresh) remove(at.block); // a free that was not seen ended it
        at.block = block;
    }

    void free(Image &image, Thread &thread, const Event &event) {
        const Kept *found = image.live.find(event.address);
        if (found == nullptr) return;
        const Kept block = *found;
        image.live.remove(found);
        remove(block);
        ++all_[block.site].ends;
        if (event.by_realloc) {
            thread.reallocated = block;
            thread.reallocated_from = event.address;
        } else if (block.site < thread.latest.size()) {
            Latest &latest = thread.latest[block.site];
            Kept *const next = latest.address == event.address ? nullptr : image.live.find(latest.address);
            if (next != nullptr) replace(block, *next, true);
            latest = {};
        }
    }

    // `after` takes the place of `before`.
    void replace(const Kept &before, Kept &after, bool moved) {
        if (after.size <= before.size) return;
        SiteHistory &history = all_[before.site];
        ++history.replaced;
        after.step = after.size - before.size;
        after.row = after.step == before.step ? before.row + 1 : 1;
        if (after.row < kLeastRow) return;
        const uint32_t more = after.row == kLeastRow ? kLeastRow : 1;
        count(before.site, after.step, before.size, more);
        if (moved) history.copied += static_cast<double>(more) * static_cast<double>(before.size);
    }

    // A sampled block was freed: what its thread allocated meanwhile, by its clock.
    void end(Image &image, const Event &event) {
        const Kept *found = image.live.find(event.address);
        if (found == nullptr) return;
        const Kept block = *found;
        image.live.remove(found);
        remove(block);
        SiteHistory &history = all_[block.site];
        ++history.ends;
        const uint64_t meanwhile = event.clock - block.clock;
        const uint64_t one = block.size + kClockOfCall;
        if (block.thread != event.thread || meanwhile <= one) return;
        const uint64_t step = meanwhile - one;
        if (step > block.size / 4) return;
        ++history.replaced;
        if (history.constant > 0) {
            const uint64_t apart =
                block.size > history.largest ? block.size - history.largest : history.largest - block.size;
            history.grid = std::gcd(history.grid, apart);
        }
        count(block.site, step, block.size, 1);
    }

    // Counts steps, and of the most frequent one how often it was, less the others (Boyer and Moore, 1981).
    void count(uint32_t site, uint64_t step, uint64_t size, uint32_t times) {
        SiteHistory &history = all_[site];
        history.constant += times;
        history.smallest = history.smallest == 0 ? size : std::min(history.smallest, size);
        history.largest = std::max(history.largest, size);
        if (step == history.step) {
            history.lead += times;
        } else if (history.lead >= times) {
            history.lead -= times;
        } else {
            history.step = step;
            history.lead = times;
        }
    }

    // The thread may have allocated another small block in each step: sizes a multiple of `grid` apart did
    // not grow by anything else.
    static void settle(SiteHistory &history) {
        if (history.grid == 0 || history.step % history.grid == 0) return;
        // One block of another growth makes the grid as fine as chance has it.
        if (history.step > history.grid && history.step <= kFinest * history.grid)
            history.step = history.grid;
        else if (history.step > history.grid || history.grid % history.step != 0)
            history.lead = 0;
    }

    void remove(const Kept &block) {
        double &live = live_[block.site];
        live -= block.bytes();
        in_use_ -= block.bytes();
        out_.floors[slice_] = std::min(out_.floors[slice_], std::max(in_use_, 0.0));
        SiteHistory &history = all_[block.site];
        history.freed[slice_] += block.bytes();
        history.floors[slice_] = std::min(history.floors[slice_], std::max(live, 0.0));
    }

    void next_slice() {
        ++slice_;
        out_.floors[slice_] = std::max(in_use_, 0.0);
        for (size_t site = 0; site < all_.size(); ++site)
            all_[site].floors[slice_] = std::max(live_[site], 0.0);
    }

    const Definitions &definitions_;
    Scale scale_;
    uint64_t start_;
    uint32_t rest_; // the site of stacks that are not listed
    uint32_t slices_;
    uint32_t slice_ = 0;
    SiteHistories out_;
    std::vector<SiteHistory> all_; // by site, the rest last
    std::vector<double> live_;     // bytes, by site
    double in_use_ = 0;            // bytes, of all
    std::unordered_map<uint32_t, std::vector<uint32_t>> site_of_;
    std::map<uint32_t, size_t> places_;
    std::vector<Image> images_; // complete while events are read
};

} // namespace

SiteHistories site_histories(BlockFile &file, const Definitions &definitions, const Summary &summary,
                             std::span<const SiteStack> stacks, uint32_t sites, uint32_t slices,
                             uint64_t most) {
    Historian historian(definitions, summary, stacks, sites, slices);
    const std::vector<std::unique_ptr<EventStream>> streams = event_streams(file);
    std::vector<EventStream *> pointers;
    pointers.reserve(streams.size());
    for (const auto &stream : streams) {
        historian.begin(*stream);
        pointers.push_back(stream.get());
    }
    const bool whole = merge_runs(
        pointers, kNoLimit, most, [](EventStream &) {},
        [&historian](EventStream &stream, std::span<const Event> events) {
            historian.handle(stream, events);
        },
        [&historian](EventStream &stream) { historian.ended(stream); });
    return historian.finish(whole);
}

} // namespace reap::native
