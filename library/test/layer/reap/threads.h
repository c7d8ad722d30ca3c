#pragma once

// What the tests of OwnedReap and PerThreadReap share: threads, signed objects, and an exchange of parcels.

#include <array>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "reap/core/mode.h"

template <class Work>
void in_threads(std::size_t count, Work work) {
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t number = 0; number < count; ++number) threads.emplace_back(work, number);
    for (std::thread &thread : threads) thread.join();
}
template <class Work>
void elsewhere(Work work) {
    std::thread(work).join();
}

inline void sign(void *object, std::size_t size, std::uint32_t seed) {
    auto *const bytes = static_cast<unsigned char *>(object);
    for (std::size_t at = 0; at < size; ++at) bytes[at] = static_cast<unsigned char>(seed + at);
}
inline bool is_signed(const void *object, std::size_t size) {
    const auto *const bytes = static_cast<const unsigned char *>(object);
    for (std::size_t at = 0; at < size; ++at) {
        if (bytes[at] != static_cast<unsigned char>(bytes[0] + at)) return false;
    }
    return true;
}

class Random {
  public:
    explicit Random(std::uint32_t seed) : engine_(seed) {}
    std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

  private:
    std::mt19937 engine_;
};

/// Sizes as programs have them: mostly small, some of more than a kilobyte, few large.
inline std::size_t draw_size(Random &random) {
    const std::uint32_t kind = random() % 1000;
    if (kind < 900) return 1 + random() % 300;
    if (kind < 997) return 1 + random() % 5000;
    return 1 + random() % 400000;
}

/// Checked mode fills all that is free, which takes most of the time.
inline constexpr int stress_steps = reap::checked ? 400 : 2000;

/// What a thread hands to another.
struct Parcel {
    void *object = nullptr;
    std::size_t size = 0;
};

/// Where threads put parcels, and find what others put there.
class Exchange {
  public:
    Parcel swap(std::size_t at, Parcel parcel) {
        Place &place = places_[at % places_.size()];
        const std::scoped_lock lock(place.mutex);
        std::swap(parcel, place.parcel);
        return parcel;
    }
    template <class Use>
    void empty(Use use) {
        for (std::size_t at = 0; at < places_.size(); ++at)
            if (const Parcel parcel = swap(at, {}); parcel.object != nullptr) use(parcel);
    }

  private:
    struct Place {
        std::mutex mutex;
        Parcel parcel;
    };
    std::array<Place, 64> places_;
};

template <class Reaps>
void free_checked(const Parcel &parcel, std::uint32_t how) {
    if (parcel.object == nullptr) return;
    ASSERT_TRUE(is_signed(parcel.object, parcel.size));
    if (how % 2 == 0)
        Reaps::deallocate(parcel.object);
    else
        Reaps::deallocate(parcel.object, parcel.size);
}
