// How many blocks were in use at once, from the counters of blocks allocated and freed that samples carry.
//
// A sample says both for its own thread at that moment. What another thread had in use then lies between two
// of its own samples: at least what it had allocated by the one before less what it had freed by the one
// after, at most the reverse. So the most of all threads has a lower and an upper bound that always hold, as
// long as a process is there: it counts from its first sample to its last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace reap::native {

struct Counted {
    double most = 0;  // at any sample, with the others as of their latest
    double low = 0;   // at least
    double bound = 0; // at most
};

class CountedBlocks {
  public:
    // A sample in a thread of the image at `place`. They come in order of time.
    void sampled(size_t place, uint32_t thread, uint64_t allocations, uint64_t frees);
    // What the thread had counted at its end.
    void ended(size_t place, uint32_t thread, uint64_t allocations, uint64_t frees);

    // Of every image, by place, and of all together.
    [[nodiscard]] std::vector<Counted> of_each(size_t images) const;
    [[nodiscard]] Counted of_all() const;

  private:
    struct Counters {
        uint64_t allocations = 0;
        uint64_t frees = 0;
    };
    struct Sample {
        size_t place;
        uint32_t thread;
        Counters counters;
    };
    using Threads = std::unordered_map<uint32_t, Counters>;
    using Images = std::unordered_map<size_t, Threads>;

    static Counted sweep(std::span<const Sample> samples, Images next);

    std::vector<Sample> samples_;
    Images latest_;
    Images ends_;
};

} // namespace reap::native
