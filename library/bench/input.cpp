#include "input.h"

#include <algorithm>
#include <random>

namespace bench {

std::uint64_t sum_of_bytes(const void *object, std::size_t size) {
    std::uint64_t sum = 0;
    const auto *const bytes = static_cast<const unsigned char *>(object);
    for (std::size_t at = 0; at < size; ++at) sum += bytes[at];
    return sum;
}

const Input &Input::get() {
    static const Input input;
    return input;
}

Input::Input() : sizes_(many) {
    std::mt19937_64 random(20021108);
    // 2.25 more units of 8 bytes in the mean, above the 16 that every object has.
    std::geometric_distribution<unsigned> more(1 / 3.25);
    for (std::uint16_t &size : sizes_)
        size = static_cast<std::uint16_t>(std::min(16 + 8 * more(random), 256U));

    for (const unsigned percent : {30U, 90U}) {
        std::vector<std::uint32_t> victims(many, none);
        std::uint32_t live = 0;
        for (std::uint32_t &victim : victims) {
            ++live;
            if (random() % 100 < percent) victim = static_cast<std::uint32_t>(random() % live--);
        }
        (percent == 30 ? victims30_ : victims90_) = std::move(victims);
    }
}

} // namespace bench
