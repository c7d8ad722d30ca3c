#include "totals/counted.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "totals/aggregator.h"

namespace reap::native {
namespace {

// Of one image, or of all: what is added to it is taken away again where an image ends.
struct Sums {
    int64_t stale = 0;
    int64_t low = 0;
    int64_t high = 0;

    void add(const Sums &other, int64_t sign = 1) noexcept {
        stale += sign * other.stale;
        low += sign * other.low;
        high += sign * other.high;
    }
};

int64_t difference(uint64_t a, uint64_t b) noexcept { return static_cast<int64_t>(a - b); }

} // namespace

void CountedBlocks::sampled(size_t place, uint32_t thread, uint64_t allocations, uint64_t frees) {
    Counters &latest = latest_[place][thread];
    if (allocations < latest.allocations || frees < latest.frees) return; // damage
    latest = {allocations, frees};
    samples_.push_back({place, thread, latest});
}

void CountedBlocks::ended(size_t place, uint32_t thread, uint64_t allocations, uint64_t frees) {
    Counters &end = ends_[place][thread];
    end = {std::max(end.allocations, allocations), std::max(end.frees, frees)};
}

std::vector<Counted> CountedBlocks::of_each(size_t images) const {
    std::vector<std::vector<Sample>> own(images);
    for (const Sample &sample : samples_) own[sample.place].push_back(sample);
    std::vector<Counted> found;
    found.reserve(images);
    for (size_t place = 0; place < images; ++place) {
        Images ends;
        if (const auto end = ends_.find(place); end != ends_.end()) ends.insert(*end);
        found.push_back(sweep(own[place], std::move(ends)));
    }
    return found;
}

Counted CountedBlocks::of_all() const { return sweep(samples_, ends_); }

// `next` has what each thread had counted at its end; here it becomes what its next sample says.
Counted CountedBlocks::sweep(std::span<const Sample> samples, Images next) {
    std::vector<Counters> following(samples.size());
    std::unordered_map<size_t, size_t> left; // samples of each image
    for (size_t i = samples.size(); i-- > 0;) {
        const auto &[place, thread, counters] = samples[i];
        const auto [known, fresh] = next[place].try_emplace(thread, counters);
        following[i] = {std::max(known->second.allocations, counters.allocations),
                        std::max(known->second.frees, counters.frees)};
        known->second = counters;
        ++left[place];
    }

    Counted most;
    Sums all;
    std::unordered_map<size_t, Sums> images;
    Images latest;
    // An image begins with what its threads have up to their first samples, or in all.
    const auto begin = [&](size_t place) {
        Sums &image = images[place];
        for (const auto &[thread, first] : next[place]) {
            image.low -= static_cast<int64_t>(first.frees);
            image.high += static_cast<int64_t>(first.allocations);
        }
        all.add(image);
    };
    const auto see = [&](int64_t low) {
        most.most = std::max(most.most, static_cast<double>(all.stale));
        most.low = std::max(most.low, static_cast<double>(low));
        most.bound = std::max(most.bound, static_cast<double>(all.high));
    };
    for (size_t i = 0; i < samples.size(); ++i) {
        const auto &[place, thread, now] = samples[i];
        if (!images.contains(place)) begin(place);
        see(all.low); // the moment before
        Counters &before = latest[place][thread];
        const int64_t exact = difference(now.allocations, now.frees);
        const int64_t was_low = difference(before.allocations, now.frees);
        Sums change;
        change.stale = exact - difference(before.allocations, before.frees);
        change.low = difference(now.allocations, following[i].frees) - was_low;
        change.high =
            difference(following[i].allocations, now.frees) - difference(now.allocations, before.frees);
        const int64_t at_sample = all.low - was_low + exact;
        before = now;
        images[place].add(change);
        all.add(change);
        see(at_sample);
        if (--left[place] == 0) all.add(images[place], -1);
    }
    // Images without a sample: each has no more than it allocated, and at its end what it has not freed.
    for (const auto &[place, threads] : next) {
        if (images.contains(place)) continue;
        Sums image;
        for (const auto &[thread, end] : threads) {
            image.low += difference(end.allocations, end.frees);
            image.high += static_cast<int64_t>(end.allocations);
        }
        most.low = std::max(most.low, static_cast<double>(image.low));
        most.bound = std::max(most.bound, static_cast<double>(image.high));
    }
    most.most = std::clamp(most.most, most.low, std::max(most.low, most.bound));
    return most;
}

double Scale::factor(double weights, double seen, double counted, double variance) noexcept {
    constexpr double kDeviations = 3;
    const double most = weights + kDeviations * std::sqrt(variance);
    return weights > seen && counted >= seen ? (std::min(counted, most) - seen) / (weights - seen) : 1;
}

// Estimates from samples are made to add up to the counters: that has less variance, and no part is more than
// the whole.
void Aggregator::scale_to_counts() {
    SiteTotals weighed;
    SiteVariance all;
    double counted_objects = 0;
    double counted_bytes = 0;
    for (const ImageState &image : states_) {
        counted_objects += static_cast<double>(image.totals.objects);
        counted_bytes += static_cast<double>(image.totals.bytes);
        for (const SiteTotals &site : image.totals.sites) {
            weighed.objects += site.objects;
            weighed.bytes += site.bytes;
        }
        for (const SiteVariance &site : image.totals.variances) {
            all.objects += site.objects;
            all.bytes += site.bytes;
            all.seen_objects += site.seen_objects;
            all.seen_bytes += site.seen_bytes;
        }
    }
    Scale &scale = out_.scale;
    scale = {Scale::factor(weighed.objects, all.seen_objects, counted_objects, all.objects),
             Scale::factor(weighed.bytes, all.seen_bytes, counted_bytes, all.bytes)};
    for (ImageState &image : states_) {
        for (size_t stack = 0; stack < image.totals.variances.size(); ++stack) {
            SiteTotals &site = image.totals.sites[stack];
            SiteVariance &sampled = image.totals.variances[stack];
            site.objects = Scale::sum(site.objects, sampled.seen_objects, scale.objects);
            site.temporary = Scale::sum(site.temporary, sampled.seen_temporary, scale.objects);
            site.bytes = Scale::sum(site.bytes, sampled.seen_bytes, scale.bytes);
            sampled.objects *= scale.objects * scale.objects;
            sampled.bytes *= scale.bytes * scale.bytes;
        }
    }
    for (size_t bin = 0; bin < kLifetimeBins; ++bin) {
        double &objects = out_.lifetime_objects[bin];
        double &bytes = out_.lifetime_bytes[bin];
        objects = Scale::sum(objects, lifetimes_seen_[bin].objects, scale.objects);
        bytes = Scale::sum(bytes, lifetimes_seen_[bin].bytes, scale.bytes);
    }
    out_.immortal_objects = Scale::sum(out_.immortal_objects, immortal_seen_.objects, scale.objects);
    out_.immortal_bytes = Scale::sum(out_.immortal_bytes, immortal_seen_.bytes, scale.bytes);
}

} // namespace reap::native
