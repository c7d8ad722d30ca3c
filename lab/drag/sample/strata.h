// Which bytes are drawn: one in each stratum.
#pragma once

#include <cstdint>

#include "random.h"

namespace reap::drag {

// The bytes that a thread allocates are cut into strata, and one byte of each is drawn, anywhere in it; an
// object is a sample if one of its bytes is. So an object of n bytes that stands for the bytes of its strata
// is drawn with a mean of n over them, as by a Poisson process, but without the chance that lies in the
// number of samples, or in where they crowd (Särndal, Swensson and Wretman, "Model Assisted Survey Sampling",
// 1992, 3.7). Nothing that comes in turns can fall in step with it, as with a draw of every n-th byte. Not
// thread-safe.
class Strata {
  public:
    // So many bytes have been allocated, the last of which are the newest object's; `next` says how long the
    // stratum that begins is. Returns the bytes that this object stands for; 0: it is not drawn.
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
            // Never much shorter than the last, which decided what is large: there are few in one object
            // then.
            const uint64_t wanted = next();
            length_ = wanted > length_ / 2 ? wanted : length_ / 2;
            to_point_ = to_end_ + static_cast<int64_t>(random.below(length_));
            to_end_ += static_cast<int64_t>(length_);
            ahead_ = true;
        }
    }

    // Of the stratum under way; 0 before the first.
    [[nodiscard]] uint64_t length() const noexcept { return length_; }

    // Bytes that can be allocated before something is to be done.
    [[nodiscard]] int64_t room() const noexcept { return ahead_ ? to_point_ : to_end_; }

  private:
    uint64_t length_ = 0;
    int64_t to_point_ = 0;
    int64_t to_end_ = 0;
    bool ahead_ = false; // the byte that is drawn
};

} // namespace reap::drag
