// Which bytes are sampled: one in each stratum.
#pragma once

#include <cstdint>

#include "random.h"

namespace reap::drag {

// Stratified sampling: the bytes that a thread allocates are divided into strata, and one byte of each is
// sampled uniformly; an object is a sample if one of its bytes is. An object of n bytes in a stratum of
// length m is sampled with probability n / m, as by a Poisson process, but without the variance of the number
// of samples and of their clustering (Särndal, Swensson and Wretman, "Model Assisted Survey Sampling",
// 1992, 3.7). Unlike sampling every n-th byte, it does not alias with periodic allocations. Not thread-safe.
class Strata {
  public:
    // `bytes` have been allocated, ending with the newest object; `next` returns the length of a new stratum.
    // Returns the bytes that this object represents; 0 if it is not sampled.
    template <class Next>
    uint64_t pass(uint64_t bytes, preload::Random &random, Next next) noexcept {
        uint64_t stands = 0;
        to_point_ -= static_cast<int64_t>(bytes);
        to_end_ -= static_cast<int64_t>(bytes);
        for (;;) {
            if (ahead_ && to_point_ < 0) {
                stands += length_;
                ahead_ = false;
            }
            if (to_end_ > 0) return stands;
            // At least half of the last one, which defined what is large, so that an object spans few strata.
            const uint64_t wanted = next();
            length_ = wanted > length_ / 2 ? wanted : length_ / 2;
            to_point_ = to_end_ + static_cast<int64_t>(random.below(length_));
            to_end_ += static_cast<int64_t>(length_);
            ahead_ = true;
        }
    }

    // Length of the current stratum; 0 before the first.
    [[nodiscard]] uint64_t length() const noexcept { return length_; }

    // Bytes that can be allocated before the next call is due.
    [[nodiscard]] int64_t room() const noexcept { return ahead_ ? to_point_ : to_end_; }

  private:
    uint64_t length_ = 0;
    int64_t to_point_ = 0;
    int64_t to_end_ = 0;
    bool ahead_ = false; // whether the sampled byte is still to come
};

} // namespace reap::drag
