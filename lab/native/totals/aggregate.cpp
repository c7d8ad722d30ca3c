#include "totals/aggregator.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>

#include "trace/merge.h"

namespace reap::native {
namespace {

// How many events ahead the control bytes of the table are fetched, and then the places: at once for a whole
// batch, and the first would wait for all the others.
constexpr size_t kAhead = 24;
constexpr size_t kNear = 12;

// Without its fraction. A damaged file's times may be beyond every integer; what is then said is 146 years.
inline uint64_t whole(double value) noexcept {
    return static_cast<uint64_t>(static_cast<int64_t>(std::min(value, 0x1p62)));
}

} // namespace

Aggregator::Aggregator(BlockFile &file, const Definitions &definitions)
    : file_(file), definitions_(definitions) {
    const reap_file_header &header = file.header();
    out_.depth = header.depth;
    out_.start_ticks = header.start_ticks;
    out_.last_ticks = header.start_ticks;
    out_.ticks_per_second = file.ticks_per_second();
    ns_per_tick_ = 1e9 / out_.ticks_per_second;
    out_.live = Timeline(header.start_ticks, whole(out_.ticks_per_second / 10000));
    for (const ImageInfo &image : definitions.images()) place_of(image.number);
}

size_t Aggregator::place_of(uint32_t image) {
    const auto [place, fresh] = places_.emplace(image, states_.size());
    if (fresh) states_.emplace_back().totals.image = image;
    return place->second;
}

// A number that no frame has is damage; it must not make us allocate gigabytes.
uint32_t Aggregator::make_room(ImageTotals &totals, uint32_t stack) const {
    const uint32_t limit = definitions_.frame_limit(totals.image);
    if (stack >= limit) stack = 0;
    const size_t wanted = std::max<size_t>(stack + size_t{1}, totals.sites.size() * 2);
    if (stack >= totals.sites.size()) totals.sites.resize(std::min<size_t>(limit, wanted));
    return stack;
}

inline SiteTotals &Aggregator::site(ImageState &image, uint32_t stack) {
    if (stack >= image.totals.sites.size()) stack = make_room(image.totals, stack);
    SiteTotals &site = image.totals.sites[stack];
    if (site.epoch < peak_epoch_) { // untouched since the last peak: what it had then is what it has now
        site.at_peak = site.live_bytes;
        site.epoch = peak_epoch_;
    }
    return site;
}

// Brought up to the last peak, as `site` does it.
inline SizeInUse &Aggregator::size_in_use(uint64_t size) {
    const uint64_t place = size < REAP_EXACT_SIZES ? size : REAP_EXACT_SIZES + format::large_bin(size);
    SizeInUse &use = out_.sizes_in_use[place];
    if (use.epoch < number_epoch_) {
        use.peak_objects = use.objects;
        use.peak_bytes = use.bytes;
        use.epoch = number_epoch_;
    }
    return use;
}

// A block more: its site, its size, what is in use.
template <class Value>
[[gnu::always_inline]] inline void Aggregator::put_in(ImageState &image, LiveTable<Value> &table,
                                                      const Event &event, const Value &block) {
    const auto size = static_cast<double>(event.size);
    SiteTotals &from = site(image, event.stack);
    from.objects += block.weight;
    from.bytes += block.weight * size;
    from.live_bytes += block.weight * size;

    if (event.address >= LiveTable<Value>::kLowest) {
        const typename LiveTable<Value>::Added place = table.add(event.address);
        // Allocated again without a free that we saw (it was made where we could not look): that ended it.
        if (!place.fresh) [[unlikely]]
            take_out(image, place.block);
        place.block = block;
    }
    if (out_.depth == REAP_DEPTH_FULL) {
        SizeInUse &use = size_in_use(event.size);
        ++use.objects;
        use.bytes += event.size;
    }
    if (bounded_) [[unlikely]]
        change(image, 1, size);
    image.totals.use.add(block.weight, size);
    const double most = out_.tree.max_objects;
    if (out_.tree.add(block.weight, size)) ++peak_epoch_;
    if (out_.tree.max_objects > most) ++number_epoch_;
    out_.live.level(event.ticks, out_.tree.bytes).sum += block.weight;
}

template <class Value>
[[gnu::always_inline]] inline void Aggregator::take_out(ImageState &image, const Value &live) {
    const auto size = static_cast<double>(live.size);
    site(image, live.stack).live_bytes -= live.weight * size;
    remove_size(live.size);
    if (bounded_) [[unlikely]]
        change(image, -1, -size);
    image.totals.use.remove(live.weight, size);
    out_.tree.remove(live.weight, size);
}

// The next event of a stream: it has a stamp, or is one of the open ones.
inline void Aggregator::visit(ImageState &image, OpenEvents &open, bool stamped) {
    image.bounds.visit(open, stamped);
    bounds_.visit(open, stamped);
    if (stamped) open = {};
    open_ = stamped ? nullptr : &open;
}

// So many blocks and bytes more by the event at hand.
inline void Aggregator::change(ImageState &image, double objects, double bytes) {
    if (open_ == nullptr) {
        image.bounds.add(objects, bytes);
        bounds_.add(objects, bytes);
        return;
    }
    const OpenEvents before = *open_;
    open_->add(objects, bytes);
    image.bounds.add(before, *open_);
    bounds_.add(before, *open_);
}

inline void Aggregator::remove_size(uint64_t size) {
    if (out_.depth != REAP_DEPTH_FULL) return;
    SizeInUse &use = size_in_use(size);
    --use.objects;
    use.bytes -= size;
}

// A block less. `temporary`: its thread had not allocated since.
template <class Value>
[[gnu::always_inline]] inline void Aggregator::freed(ImageState &image, LiveTable<Value> &table,
                                                     const Event &event, const Value &live, bool temporary) {
    take_out(image, live);
    const double brief = temporary ? live.weight : 0;
    site(image, live.stack).temporary += brief;
    out_.temporary += brief;
    out_.live.level(event.ticks, out_.tree.bytes);

    const uint64_t ticks = event.ticks > live.birth ? event.ticks - live.birth : 0;
    const uint64_t ns = whole(static_cast<double>(ticks) * ns_per_tick_);
    const auto octave = static_cast<size_t>(std::bit_width(ns | 1)) - 1;
    const size_t bin = std::min<size_t>(octave, kLifetimeBins - 1);
    out_.lifetime_objects[bin] += live.weight;
    out_.lifetime_bytes[bin] += live.weight * static_cast<double>(live.size);
    if (out_.depth != REAP_DEPTH_FULL) {
        lifetimes_seen_[bin].add(live.size);
        if (temporary) see_temporary(image.totals, live.stack);
    }
    table.remove(&live);
}

[[gnu::always_inline]] inline void Aggregator::allocate(ImageState &image, const Event &event,
                                                        uint32_t ordinal) {
    put_in(image, image.live, event, {event.size, event.ticks, ordinal, event.stack});
    image.totals.bytes += event.size;
    ++out_.calls[event.call];
    if (event.size < REAP_EXACT_SIZES) [[likely]] {
        ++out_.by_size.exact[event.size];
    } else {
        const unsigned bin = format::large_bin(event.size);
        ++out_.by_size.large_objects[bin];
        out_.by_size.large_bytes[bin] += event.size;
    }
}

// `last`: the ordinal of the thread's last allocation. False: no event of the recording, as the block was
// allocated before that began.
[[gnu::always_inline]] inline bool Aggregator::free(ImageState &image, const Event &event, uint32_t last) {
    const Live *found = image.live.find(event.address);
    if (found != nullptr) [[likely]] {
        freed(image, image.live, event, *found, found->ordinal == last);
    } else if (event.address != 0) {
        if (file_.part().begins_late()) return false;
        ++out_.unmatched_frees;
    }
    if (!event.by_realloc) ++out_.calls[event.call];
    return true;
}

void Aggregator::sample(ImageState &image, const Event &event) {
    const auto weight = static_cast<float>(event.weight());
    out_.weight += weight;
    out_.weight_squares += weight * weight;
    if (event.period == 0) { // of an attached recording: nothing is known of its life
        SiteTotals &from = site(image, event.stack);
        from.objects += weight;
        from.bytes += weight * static_cast<double>(event.size);
        out_.live.level(event.ticks, 0).sum += weight;
        return;
    }
    put_in(image, image.sampled, event,
           {event.size, event.ticks, static_cast<uint32_t>(event.clock), event.stack, event.thread, weight});
    vary(image.totals, event, weight);
    latency(event, event.call, weight);
}

// Adds a sample to the variances of its site.
void Aggregator::vary(ImageTotals &totals, const Event &event, double weight) const {
    const uint32_t stack = make_room(totals, event.stack);
    if (stack >= totals.variances.size()) totals.variances.resize(totals.sites.size());
    const double variance = weight * weight - weight;
    const auto size = static_cast<double>(event.size);
    SiteVariance &sampled = totals.variances[stack];
    sampled.objects += variance;
    sampled.bytes += variance * size * size;
    sampled.seen_objects += 1;
    sampled.seen_bytes += size;
}

void Aggregator::see_temporary(ImageTotals &totals, uint32_t stack) {
    if (stack < totals.variances.size()) totals.variances[stack].seen_temporary += 1;
}

void Aggregator::sample_end(ImageState &image, const Event &event) {
    const SampledLive *found = image.sampled.find(event.address);
    if (found == nullptr) return;
    const float weight = found->weight;
    returned(weight, found->thread != event.thread);
    freed(image, image.sampled, event, *found,
          found->thread == event.thread && found->clock == static_cast<uint32_t>(event.clock));
    if (event.duration > 0 && weight > 0) latency(event, REAP_CALL_FREE, weight);
}

void Aggregator::latency(const Event &event, uint8_t call, double weight) {
    out_.latencies[call].add(whole(static_cast<double>(event.duration) * ns_per_tick_), weight);
}

namespace {

[[gnu::always_inline]] inline void fetch_ahead(const LiveTable<Live> &table, const Event *event,
                                               const Event *end) {
    const auto left = static_cast<size_t>(end - event);
    if (left > kAhead) table.prefetch(event[kAhead].address);
    if (left > kNear) table.prefetch_place(event[kNear].address, event[kNear].what == What::Free);
}

} // namespace

// Events of one thread in a row. What all of them add to is added up here.
void Aggregator::handle(EventStream &stream, std::span<const Event> events) {
    ImageState &image = states_[stream.place];
    const uint32_t thread = stream.thread();
    if (thread >= image.last.size()) image.last.resize(thread + size_t{1});
    if (bounded_ && thread >= image.open.size()) image.open.resize(thread + size_t{1});
    uint32_t last = image.last[thread];
    uint64_t allocations = 0;
    uint64_t frees = 0;
    uint64_t ignored = 0;
    const Event *end = events.data() + stream.waiting().size();
    for (const Event &event : events) {
        if (image.live.large()) fetch_ahead(image.live, &event, end);
        if (event.ticks > out_.last_ticks) out_.last_ticks = event.ticks;
        if (bounded_) visit(image, image.open[thread], !event.follows);
        if (event.what == What::Free) {
            const bool counts = free(image, event, last);
            frees += counts ? 1 : 0;
            ignored += counts ? 0 : 1;
        } else if (event.what == What::Alloc) {
            last = ++image.allocations;
            allocate(image, event, last);
            ++allocations;
        } else {
            handle_other(stream, event);
        }
    }
    image.last[thread] = last;
    out_.events += events.size() - ignored;
    out_.frees += frees;
    out_.weight += static_cast<double>(allocations);
    out_.weight_squares += static_cast<double>(allocations);
    image.totals.frees += frees;
    image.totals.objects += allocations;
}

// What is not hot.
[[gnu::noinline]] void Aggregator::handle_other(EventStream &stream, const Event &event) {
    ImageState &image = states_[stream.place];
    if (event.what == What::Failed) {
        ++out_.failures;
        ++out_.calls[event.call];
    } else if (event.what == What::Sample) {
        ++out_.samples;
        sample(image, event);
        if (counts_blocks_in_use() && event.period != 0)
            counted_.sampled(stream.place, event.thread, event.allocations, event.frees);
    } else {
        sample_end(image, event);
    }
}

// What a process had in use when it ended goes back to the system with it.
void Aggregator::image_ended(ImageState &image) {
    const auto immortal = [this](uint64_t, const auto &live) {
        out_.immortal_objects += live.weight;
        out_.immortal_bytes += live.weight * static_cast<double>(live.size);
        immortal_seen_.add(live.size);
        remove_size(live.size);
    };
    image.live.each(immortal);
    image.sampled.each(immortal);
    out_.tree.remove(image.totals.use);
    bounds_.remove(image.bounds);
    image.totals.use.remove(InUse(image.totals.use)); // keeps the peaks
    for (uint32_t stack = 0; stack < image.totals.sites.size(); ++stack) {
        SiteTotals &from = site(image, stack);
        from.at_exit = from.live_bytes;
        from.live_bytes = 0;
    }
    image.live.clear();
    image.sampled.clear();
}

void BySize::add(const reap_counts &counts) {
    for (const reap_rare &rare : counts.rare) {
        if (rare.size < REAP_EXACT_SIZES) {
            exact[rare.size] += rare.objects;
        } else {
            const unsigned bin = format::large_bin(rare.size);
            large_objects[bin] += rare.objects;
            large_bytes[bin] += rare.objects * rare.size;
        }
    }
    for (uint32_t size = 0; size < REAP_EXACT_SIZES; ++size) exact[size] += counts.by_size[size];
    for (uint32_t bin = 0; bin < REAP_LARGE_BINS; ++bin) {
        large_objects[bin] += counts.large_objects[bin];
        large_bytes[bin] += counts.large_bytes[bin];
    }
}

void BySize::add(const BySize &other) {
    for (uint32_t size = 0; size < REAP_EXACT_SIZES; ++size) exact[size] += other.exact[size];
    for (uint32_t bin = 0; bin < REAP_LARGE_BINS; ++bin) {
        large_objects[bin] += other.large_objects[bin];
        large_bytes[bin] += other.large_bytes[bin];
    }
}

uint64_t BySize::objects() const noexcept {
    return std::accumulate(exact.begin(), exact.end(), UINT64_C(0)) +
           std::accumulate(large_objects.begin(), large_objects.end(), UINT64_C(0));
}

uint64_t BySize::bytes() const noexcept {
    uint64_t sum = std::accumulate(large_bytes.begin(), large_bytes.end(), UINT64_C(0));
    for (uint32_t size = 0; size < REAP_EXACT_SIZES; ++size) sum += exact[size] * size;
    return sum;
}

void Aggregator::read_counts() {
    std::vector<unsigned char> payload;
    for (const BlockInfo &block : file_.blocks()) {
        if (block.head.kind != REAP_BLOCK_COUNTS || !file_.payload(block, payload)) continue;
        ++states_[place_of(block.head.image)].totals.threads;
        if (payload.size() < sizeof(reap_counts)) {
            ++file_.damage().malformed;
            continue;
        }
        reap_counts counts;
        std::memcpy(&counts, payload.data(), sizeof counts);
        out_.skipped += counts.skipped;
        out_.calls[REAP_CALL_USABLE_SIZE] += counts.calls[REAP_CALL_USABLE_SIZE];
        // In full depth the events say the rest; where they ended early, up to there.
        const bool triage = out_.depth == REAP_DEPTH_TRIAGE;
        if (!triage && file_.header().stop_reason == REAP_STOP_NONE) continue;
        ImageTotals &totals = states_[place_of(block.head.image)].totals;
        uint64_t named = 0;
        for (uint32_t call = 0; call < REAP_CALLS; ++call) {
            if (call == REAP_CALL_USABLE_SIZE) continue;
            out_.calls[call] += counts.calls[call];
            if (call < REAP_CALL_FREE) named += counts.calls[call];
        }
        BySize sizes;
        sizes.add(counts);
        out_.by_size.add(sizes);
        const uint64_t objects = sizes.objects();
        totals.bytes += sizes.bytes();
        totals.objects += objects;
        totals.frees += counts.frees;
        if (triage && counts_blocks_in_use())
            counted_.ended(place_of(block.head.image), block.head.thread, objects, counts.frees);
        const uint64_t all_reallocs = counts.calls[REAP_CALL_REALLOC] + counts.calls[REAP_CALL_REALLOCARRAY];
        const uint64_t reallocs =
            all_reallocs > counts.fresh_reallocs ? all_reallocs - counts.fresh_reallocs : 0;
        const uint64_t attempts = objects + counts.failures + counts.final_reallocs;
        out_.calls[REAP_CALL_MALLOC] += attempts > named ? attempts - named : 0;
        const uint64_t other_frees = counts.calls[REAP_CALL_DELETE];
        out_.frees += counts.frees;
        const uint64_t plain = counts.frees > other_frees ? counts.frees - other_frees : 0;
        out_.calls[REAP_CALL_FREE] += plain > reallocs ? plain - reallocs : 0;
        out_.failures += counts.failures;
    }
}

void Aggregator::read_requests() {
    std::vector<unsigned char> payload;
    for (const BlockInfo &block : file_.blocks()) {
        if (block.head.kind != REAP_BLOCK_REQUESTS || !file_.payload(block, payload)) continue;
        if (payload.size() < sizeof(reap_requests)) {
            ++file_.damage().malformed;
            continue;
        }
        reap_requests counts;
        std::memcpy(&counts, payload.data(), sizeof counts);
        const RequestTotals totals{std::string(counts.phase, strnlen(counts.phase, sizeof counts.phase)),
                                   counts.count,
                                   counts.allocations,
                                   counts.bytes,
                                   counts.most_allocations,
                                   counts.most_bytes,
                                   {std::begin(counts.by_allocations), std::end(counts.by_allocations)},
                                   {std::begin(counts.by_bytes), std::end(counts.by_bytes)}};
        const auto known =
            std::find_if(out_.requests.begin(), out_.requests.end(),
                         [&](const RequestTotals &each) { return each.phase == totals.phase; });
        if (known == out_.requests.end()) {
            out_.requests.push_back(totals);
        } else {
            known->add(totals);
        }
    }
}

void Aggregator::begin(EventStream &stream) {
    stream.place = place_of(stream.image());
    ++states_[stream.place].streams;
}

bool Aggregator::take(const std::vector<EventStream *> &streams, uint64_t horizon, uint64_t most) {
    return merge_runs(
        streams, horizon, most,
        [this](const EventStream &stream) {
            const LiveTable<Live> &table = states_[stream.place].live;
            if (!table.large()) return;
            const std::span<const Event> waiting = stream.waiting();
            for (const Event &event : waiting.first(std::min(kAhead, waiting.size()))) {
                table.prefetch(event.address);
            }
            for (const Event &event : waiting.first(std::min(kNear, waiting.size()))) {
                table.prefetch_place(event.address, event.what == What::Free);
            }
        },
        [this](EventStream &stream, std::span<const Event> events) { handle(stream, events); },
        [this](EventStream &stream) {
            stream.ended = true;
            ImageState &image = states_[stream.place];
            if (bounded_ && stream.thread() < image.open.size()) {
                image.bounds.end(image.open[stream.thread()]);
                bounds_.end(image.open[stream.thread()]);
            }
            if (--image.streams == 0) image_ended(image);
        });
}

Summary Aggregator::finish() {
    // Counters of a ring are of the whole run, those of an attached recording estimates.
    if (out_.depth == REAP_DEPTH_TRIAGE && file_.header().attached == 0 && !file_.is_ring())
        scale_to_counts();
    out_.counted = counted_.of_all();
    const auto most = [this](const InUseBounds &bounds, const InUse &use) {
        const MostInUse known{{use.max_objects, use.max_objects}, {use.max_bytes, use.max_bytes}};
        return bounded_ ? bounds.most() : known;
    };
    out_.most = most(bounds_, out_.tree);
    const std::vector<Counted> counted = counted_.of_each(states_.size());
    for (size_t place = 0; place < states_.size(); ++place) {
        ImageState &image = states_[place];
        image.totals.counted = counted[place];
        image.totals.most = most(image.bounds, image.totals.use);
        // A process without events has no site; of the others each was looked at when they ended.
        for (uint32_t stack = 0; stack < image.totals.sites.size(); ++stack) site(image, stack);
        out_.images.push_back(std::move(image.totals));
    }
    for (SizeInUse &use : out_.sizes_in_use) {
        if (use.epoch == number_epoch_) continue; // untouched since the last peak
        use.peak_objects = use.objects;
        use.peak_bytes = use.bytes;
    }
    return std::move(out_);
}

void RequestTotals::add(const RequestTotals &other) {
    count += other.count;
    allocations += other.allocations;
    bytes += other.bytes;
    most_allocations = std::max(most_allocations, other.most_allocations);
    most_bytes = std::max(most_bytes, other.most_bytes);
    for (size_t bin = 0; bin < REAP_REQUEST_BINS; ++bin) {
        by_allocations[bin] += other.by_allocations[bin];
        by_bytes[bin] += other.by_bytes[bin];
    }
}

uint64_t request_quantile(const std::vector<uint64_t> &bins, uint64_t most, double share) {
    double all = 0;
    for (const uint64_t count : bins) all += static_cast<double>(count);
    double below = 0;
    for (unsigned bin = 0; bin < bins.size(); ++bin) {
        below += static_cast<double>(bins[bin]);
        if (bins[bin] == 0 || below < share * all) continue;
        const uint64_t low = format::request_bin_low(bin);
        return std::min(low + (format::request_bin_low(bin + 1) - low) / 2, most);
    }
    return 0;
}

namespace {

// What the samples of a recording that has every event say beside its events: latencies, and who freed.
void read_samples(BlockFile &file, Aggregator &all) {
    const std::vector<std::unique_ptr<EventStream>> streams = event_streams(file, EventStream::Of::Samples);
    struct Block {
        double weight;
        uint32_t thread;
    };
    std::map<std::pair<uint32_t, uint64_t>, Block> sampled; // by image and address
    merge(streams, [&](const EventStream &stream, const Event &event) {
        const auto block = std::pair(stream.image(), event.address);
        if (event.what == What::Sample) {
            if (event.period == 0) return;
            sampled[block] = {event.weight(), event.thread};
            all.latency(event, event.call, event.weight());
        } else if (const auto known = sampled.extract(block); !known.empty()) {
            all.returned(known.mapped().weight, known.mapped().thread != event.thread);
            if (event.duration > 0) all.latency(event, REAP_CALL_FREE, known.mapped().weight);
        }
    });
}

} // namespace

Summary aggregate(BlockFile &file, const Definitions &definitions) {
    Aggregator all(file, definitions);
    all.read_counts();
    all.read_requests();
    const std::vector<std::unique_ptr<EventStream>> streams = event_streams(file);
    std::vector<EventStream *> pointers;
    pointers.reserve(streams.size());
    if (streams.size() > 1) all.bound();
    for (const auto &stream : streams) {
        all.begin(*stream);
        pointers.push_back(stream.get());
    }
    all.take(pointers, kNoLimit, kNoLimit);
    if (file.is_exact()) read_samples(file, all);
    return all.finish();
}

} // namespace reap::native
