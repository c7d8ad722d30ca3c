#include "aggregate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "live_table.h"
#include "merge.h"

namespace reap::native {
namespace {

class Aggregator {
  public:
    Aggregator(BlockFile &file, const Definitions &definitions);
    Summary run();

  private:
    struct ImageState {
        LiveTable live;
        uint32_t streams = 0; // still to be read
        std::vector<uint32_t> allocations; // by thread: how many so far
    };

    void read_counts();
    void handle(EventStream &stream, const Event &event);
    void allocated(size_t image, const Event &event, uint32_t thread, uint32_t clock, float weight);
    double freed(size_t image, const Event &event, uint32_t thread, uint32_t clock, bool counted);
    void take_out(size_t image, const Live &live);
    void image_ended(size_t image);
    SiteTotals &site(size_t image, uint32_t stack);
    void latency(const Event &event, uint8_t call, double weight);
    size_t place_of(uint32_t image);

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

void Aggregator::allocated(size_t image, const Event &event, uint32_t thread, uint32_t clock, float weight) {
    ImageTotals &totals = out_.images[image];
    const auto size = static_cast<double>(event.size);
    SiteTotals &from = site(image, event.stack);
    from.objects += weight;
    from.bytes += weight * size;
    from.live_bytes += weight * size;
    out_.weight += weight;
    out_.weight_squares += weight * weight;

    LiveTable &table = states_[image].live;
    if (event.address >= LiveTable::kLowest) {
        const LiveTable::Added place = table.add(event.address);
        // Handed out again without a free that we saw (it was made where we could not look): that ended it.
        if (!place.fresh) take_out(image, place.block);
        place.block = {event.size, event.ticks, clock, event.stack, thread, weight};
    }
    totals.use.add(weight, size);
    if (out_.tree.add(weight, size)) ++peak_epoch_;
    out_.live.level(event.ticks, out_.tree.bytes);
    out_.live.count(event.ticks, weight);
}

void Aggregator::take_out(size_t image, const Live &live) {
    const auto size = static_cast<double>(live.size);
    site(image, live.stack).live_bytes -= live.weight * size;
    out_.images[image].use.remove(live.weight, size);
    out_.tree.remove(live.weight, size);
}

// The weight of the block that was freed; 0 if it is not known.
double Aggregator::freed(size_t image, const Event &event, uint32_t thread, uint32_t clock, bool counted) {
    LiveTable &table = states_[image].live;
    const Live *found = table.find(event.address);
    if (found == nullptr) {
        if (counted && event.address != 0) ++out_.unmatched_frees;
        return 0;
    }
    const Live live = *found;
    table.remove(found);
    take_out(image, live);
    if (live.thread == thread && live.clock == clock) {
        site(image, live.stack).temporary += live.weight;
        out_.temporary += live.weight;
    }
    out_.live.level(event.ticks, out_.tree.bytes);

    const uint64_t ticks = event.ticks > live.birth ? event.ticks - live.birth : 0;
    const auto ns = static_cast<uint64_t>(static_cast<double>(ticks) * ns_per_tick_);
    const size_t bin = std::min<size_t>(ns > 0 ? static_cast<size_t>(std::bit_width(ns)) - 1 : 0, kLifetimeBins - 1);
    out_.lifetime_objects[bin] += live.weight;
    out_.lifetime_bytes[bin] += live.weight * static_cast<double>(live.size);
    return live.weight;
}

void Aggregator::latency(const Event &event, uint8_t call, double weight) {
    out_.latencies[call].add(static_cast<uint64_t>(static_cast<double>(event.duration) * ns_per_tick_), weight);
}

void Aggregator::handle(EventStream &stream, const Event &event) {
    const size_t image = stream.place;
    ImageState &state = states_[image];
    ++out_.events;
    if (event.ticks > out_.last_ticks) out_.last_ticks = event.ticks;
    switch (event.what) {
    case What::Alloc: {
        const uint32_t thread = stream.thread();
        if (thread >= state.allocations.size()) state.allocations.resize(thread + size_t{1});
        const uint32_t clock = ++state.allocations[thread];
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
        const uint32_t clock = thread < state.allocations.size() ? state.allocations[thread] : 0;
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
        const auto weight = static_cast<float>(1.0 / -std::expm1(-drawn));
        allocated(image, event, event.thread, static_cast<uint32_t>(event.clock), weight);
        latency(event, event.call, weight);
        break;
    }
    case What::SampleEnd: {
        const double weight = freed(image, event, event.thread, static_cast<uint32_t>(event.clock), false);
        if (event.duration > 0 && weight > 0) latency(event, REAP_CALL_FREE, weight);
        break;
    }
    }
}

// What a process had in use when it ended goes back to the system with it.
void Aggregator::image_ended(size_t image) {
    ImageState &state = states_[image];
    state.live.each([this](uint64_t, const Live &live) {
        out_.immortal_objects += live.weight;
        out_.immortal_bytes += live.weight * static_cast<double>(live.size);
    });
    out_.tree.remove(out_.images[image].use);
    state.live.clear();
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
        const uint64_t all_reallocs = counts.calls[REAP_CALL_REALLOC] + counts.calls[REAP_CALL_REALLOCARRAY];
        const uint64_t reallocs = all_reallocs > counts.fresh_reallocs ? all_reallocs - counts.fresh_reallocs : 0;
        const uint64_t attempts = objects + counts.failures + counts.final_reallocs;
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
    for (const auto &stream : streams) {
        stream->place = place_of(stream->image());
        ++states_[stream->place].streams;
    }
    merge(
        std::move(streams),
        [this](const EventStream &stream) {
            const LiveTable &table = states_[stream.place].live;
            for (const Event &event : stream.waiting()) table.prefetch(event.address);
        },
        [this](EventStream &stream, const Event &event) { handle(stream, event); },
        [this](EventStream &stream) {
            if (--states_[stream.place].streams == 0) image_ended(stream.place);
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
