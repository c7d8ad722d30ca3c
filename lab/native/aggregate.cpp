#include "aggregate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <unordered_map>

#include <tsl/robin_map.h>

#include "merge.h"

namespace reap::native {
namespace {

// A block in use.
struct Live {
    uint64_t size;
    uint64_t birth; // ticks
    uint64_t clock; // the allocating thread's count of allocations, or of bytes in triage
    uint32_t stack;
    uint32_t thread;
    double weight; // how many blocks of the program it stands for
};

// malloc's addresses differ in their middle bits; the identity would put them into few places.
struct AddressHash {
    size_t operator()(uint64_t address) const noexcept {
        return static_cast<size_t>((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 16);
    }
};

using LiveMap = tsl::robin_map<uint64_t, Live, AddressHash>;

class Aggregator {
  public:
    Aggregator(BlockFile &file, const Definitions &definitions);
    Summary run();

  private:
    struct ImageState {
        LiveMap live;
        uint32_t streams = 0; // still to be read
        std::vector<uint64_t> allocations; // by thread: how many so far
    };

    void read_counts();
    void handle(EventStream &stream, const Event &event);
    void allocated(size_t image, const Event &event, uint32_t thread, uint64_t clock, double weight);
    void freed(size_t image, const Event &event, uint32_t thread, uint64_t clock, bool counted);
    void image_ended(size_t image);
    SiteTotals &site(size_t image, uint32_t stack);
    void latency(const Event &event, uint8_t call, double weight);
    size_t place_of(uint32_t image);

    // Variance of the count that one sample of this weight contributes: (1 - p) / p^2 = weight^2 - weight.
    static double variance(double weight) { return weight * weight - weight; }

    BlockFile &file_;
    const Definitions &definitions_;
    Summary out_;
    std::vector<ImageState> states_;
    std::unordered_map<uint32_t, size_t> places_;
    uint64_t peak_epoch_ = 0;
    double ns_per_tick_ = 1;
};

Aggregator::Aggregator(BlockFile &file, const Definitions &definitions) : file_(file), definitions_(definitions) {
    const reap_file_header &header = file.header();
    out_.depth = header.depth;
    out_.start_ticks = header.start_ticks;
    out_.last_ticks = header.start_ticks;
    out_.ticks_per_second = static_cast<double>(header.ticks_per_second);
    if (header.end_ticks > header.start_ticks && header.end_monotonic_ns > header.start_monotonic_ns) {
        out_.ticks_per_second = static_cast<double>(header.end_ticks - header.start_ticks) * 1e9 /
                                static_cast<double>(header.end_monotonic_ns - header.start_monotonic_ns);
    }
    if (!(out_.ticks_per_second >= 1)) out_.ticks_per_second = 1e9;
    ns_per_tick_ = 1e9 / out_.ticks_per_second;
    out_.live = Timeline(header.start_ticks, static_cast<uint64_t>(out_.ticks_per_second / 10000));
    for (const ImageInfo &image : definitions.images()) place_of(image.number);
}

size_t Aggregator::place_of(uint32_t image) {
    const auto [place, fresh] = places_.emplace(image, out_.images.size());
    if (fresh) {
        out_.images.emplace_back().image = image;
        states_.emplace_back();
    }
    return place->second;
}

SiteTotals &Aggregator::site(size_t image, uint32_t stack) {
    std::vector<SiteTotals> &sites = out_.images[image].sites;
    if (stack >= sites.size()) {
        // A number that no frame has is damage; it must not make us allocate gigabytes.
        const uint32_t limit = definitions_.frame_limit(out_.images[image].image);
        if (stack >= limit) stack = 0;
        if (stack >= sites.size()) sites.resize(std::min<size_t>(limit, std::max<size_t>(stack + 1, sites.size() * 2)));
    }
    SiteTotals &site = sites[stack];
    if (site.epoch < peak_epoch_) { // untouched since the last peak: what it had then is what it has now
        site.at_peak = site.live_bytes;
        site.epoch = peak_epoch_;
    }
    return site;
}

void Aggregator::allocated(size_t image, const Event &event, uint32_t thread, uint64_t clock, double weight) {
    ImageTotals &totals = out_.images[image];
    const auto size = static_cast<double>(event.size);
    const double count_variance = variance(weight);
    SiteTotals &from = site(image, event.stack);
    from.objects += weight;
    from.bytes += weight * size;
    from.live_bytes += weight * size;
    out_.weight += weight;
    out_.weight_squares += weight * weight;

    auto [entry, fresh] = states_[image].live.try_emplace(event.address);
    Live &live = entry.value();
    if (!fresh) {
        // Handed out again without a free that we saw (it was made where we could not look): that ended it.
        const auto old = static_cast<double>(live.size) * live.weight;
        const double old_variance = variance(live.weight);
        totals.use.remove(live.weight, old, old_variance, old_variance * static_cast<double>(live.size * live.size));
        out_.tree.remove(live.weight, old, old_variance, old_variance * static_cast<double>(live.size * live.size));
        site(image, live.stack).live_bytes -= old;
    }
    live = {event.size, event.ticks, clock, event.stack, thread, weight};
    totals.use.add(weight, weight * size, count_variance, count_variance * size * size);
    if (out_.tree.add(weight, weight * size, count_variance, count_variance * size * size)) ++peak_epoch_;
    out_.live.level(event.ticks, out_.tree.bytes);
    out_.live.count(event.ticks, weight);
}

void Aggregator::freed(size_t image, const Event &event, uint32_t thread, uint64_t clock, bool counted) {
    LiveMap &map = states_[image].live;
    const auto found = map.find(event.address);
    if (found == map.end()) {
        if (counted && event.address != 0) ++out_.unmatched_frees;
        return;
    }
    const Live live = found->second;
    map.erase(found);
    const auto size = static_cast<double>(live.size);
    const double count_variance = variance(live.weight);
    SiteTotals &from = site(image, live.stack);
    from.live_bytes -= live.weight * size;
    if (live.thread == thread && live.clock == clock) {
        from.temporary += live.weight;
        out_.temporary += live.weight;
    }
    out_.images[image].use.remove(live.weight, live.weight * size, count_variance, count_variance * size * size);
    out_.tree.remove(live.weight, live.weight * size, count_variance, count_variance * size * size);
    out_.live.level(event.ticks, out_.tree.bytes);

    const uint64_t ticks = event.ticks > live.birth ? event.ticks - live.birth : 0;
    const auto ns = static_cast<uint64_t>(static_cast<double>(ticks) * ns_per_tick_);
    const size_t bin = std::min<size_t>(ns > 0 ? static_cast<size_t>(std::bit_width(ns)) - 1 : 0, kLifetimeBins - 1);
    out_.lifetime_objects[bin] += live.weight;
    out_.lifetime_bytes[bin] += live.weight * size;
}

void Aggregator::latency(const Event &event, uint8_t call, double weight) {
    out_.latencies[call].add(static_cast<uint64_t>(static_cast<double>(event.duration) * ns_per_tick_), weight);
}

void Aggregator::handle(EventStream &stream, const Event &event) {
    const size_t image = place_of(stream.image());
    ImageState &state = states_[image];
    ++out_.events;
    if (event.ticks > out_.last_ticks) out_.last_ticks = event.ticks;
    switch (event.what) {
    case What::Alloc: {
        const uint32_t thread = stream.thread();
        if (thread >= state.allocations.size()) state.allocations.resize(thread + size_t{1});
        const uint64_t clock = ++state.allocations[thread];
        allocated(image, event, thread, clock, 1);
        ImageTotals &totals = out_.images[image];
        ++totals.objects;
        totals.bytes += event.size;
        ++out_.calls[event.call];
        if (event.size < REAP_EXACT_SIZES) {
            ++out_.by_size[event.size];
        } else {
            const unsigned bin = format::large_bin(event.size);
            ++out_.large_objects[bin];
            out_.large_bytes[bin] += event.size;
        }
        break;
    }
    case What::Free: {
        const uint32_t thread = stream.thread();
        const uint64_t clock = thread < state.allocations.size() ? state.allocations[thread] : 0;
        freed(image, event, thread, clock, true);
        ++out_.images[image].frees;
        ++out_.frees;
        if (!event.by_realloc) ++out_.calls[event.call];
        break;
    }
    case What::Failed:
        ++out_.failures;
        ++out_.calls[event.call];
        break;
    case What::Sample: {
        ++out_.samples;
        const double drawn = static_cast<double>(event.size + 16) / static_cast<double>(event.period);
        const double weight = 1.0 / -std::expm1(-drawn);
        allocated(image, event, event.thread, event.clock, weight);
        latency(event, event.call, weight);
        break;
    }
    case What::SampleEnd:
        freed(image, event, event.thread, event.clock, false);
        if (event.duration > 0) latency(event, REAP_CALL_FREE, 1);
        break;
    }
}

// What a process had in use when it ended goes back to the system with it.
void Aggregator::image_ended(size_t image) {
    ImageState &state = states_[image];
    for (const auto &[address, live] : state.live) {
        out_.immortal_objects += live.weight;
        out_.immortal_bytes += live.weight * static_cast<double>(live.size);
    }
    const InUse &use = out_.images[image].use;
    out_.tree.remove(use.objects, use.bytes, use.objects_variance, use.bytes_variance);
    state.live = LiveMap();
}

void Aggregator::read_counts() {
    std::vector<unsigned char> payload;
    for (const BlockInfo &block : file_.blocks()) {
        if (block.head.kind != REAP_BLOCK_COUNTS || !file_.payload(block, payload)) continue;
        if (payload.size() < sizeof(reap_counts)) {
            ++file_.damage().malformed;
            continue;
        }
        reap_counts counts;
        std::memcpy(&counts, payload.data(), sizeof counts);
        out_.skipped += counts.skipped;
        out_.calls[REAP_CALL_USABLE_SIZE] += counts.calls[REAP_CALL_USABLE_SIZE];
        if (out_.depth != REAP_DEPTH_TRIAGE) continue; // in full depth the events say the rest
        ImageTotals &totals = out_.images[place_of(block.head.image)];
        uint64_t named = 0;
        for (uint32_t call = 0; call < REAP_CALLS; ++call) {
            if (call == REAP_CALL_USABLE_SIZE) continue;
            out_.calls[call] += counts.calls[call];
            if (call < REAP_CALL_FREE) named += counts.calls[call];
        }
        uint64_t objects = 0;
        for (uint32_t size = 0; size < REAP_EXACT_SIZES; ++size) {
            objects += counts.by_size[size];
            totals.bytes += counts.by_size[size] * size;
            out_.by_size[size] += counts.by_size[size];
        }
        for (uint32_t bin = 0; bin < REAP_LARGE_BINS; ++bin) {
            objects += counts.large_objects[bin];
            totals.bytes += counts.large_bytes[bin];
            out_.large_objects[bin] += counts.large_objects[bin];
            out_.large_bytes[bin] += counts.large_bytes[bin];
        }
        totals.objects += objects;
        totals.frees += counts.frees;
        const uint64_t reallocs = counts.calls[REAP_CALL_REALLOC] + counts.calls[REAP_CALL_REALLOCARRAY];
        const uint64_t attempts = objects + counts.failures;
        out_.calls[REAP_CALL_MALLOC] += attempts > named ? attempts - named : 0;
        const uint64_t other_frees = counts.calls[REAP_CALL_DELETE];
        out_.frees += counts.frees;
        const uint64_t plain = counts.frees > other_frees ? counts.frees - other_frees : 0;
        out_.calls[REAP_CALL_FREE] += plain > reallocs ? plain - reallocs : 0;
        out_.failures += counts.failures;
    }
}

Summary Aggregator::run() {
    read_counts();
    std::vector<std::unique_ptr<EventStream>> streams = event_streams(file_);
    for (const auto &stream : streams) ++states_[place_of(stream->image())].streams;
    merge(
        std::move(streams), [this](EventStream &stream, const Event &event) { handle(stream, event); },
        [this](EventStream &stream) {
            const size_t image = place_of(stream.image());
            if (--states_[image].streams == 0) image_ended(image);
        });
    for (ImageTotals &image : out_.images) {
        for (SiteTotals &site : image.sites) {
            if (site.epoch < peak_epoch_) site.at_peak = site.live_bytes;
        }
    }
    return std::move(out_);
}

} // namespace

Summary aggregate(BlockFile &file, const Definitions &definitions) { return Aggregator(file, definitions).run(); }

} // namespace reap::native
