#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <reap/layer/region.h>
#include <reap/source/malloc.h>

#include "common/workload.h"

// A request makes N objects of the sizes that a parsed document has, writes and reads each, and frees them
// all. Where the objects come from is what differs: the request itself is the same code in each kind of
// memory.

namespace requests {

/// Bytes of a document's objects: short strings and nodes, some tables, few long texts. Mean 104.
inline constexpr std::array<std::uint16_t, 32> sizes = {24, 32, 48, 64,  40, 24, 56, 232, 32, 72, 48,
                                                        32, 64, 40, 184, 24, 96, 56, 32,  64, 48, 360,
                                                        32, 72, 24, 128, 48, 56, 96, 640, 40, 360};

inline std::size_t size_of(std::size_t object) { return sizes[object % sizes.size()]; }

/// So that the compiler can leave out neither an allocation nor what is written to it.
inline void seen(void *object) { asm volatile("" : : "r"(object) : "memory"); }

struct Malloc {
    void *take(std::size_t object) {
        void *const made = std::malloc(size_of(object));
        if (made == nullptr) std::abort();
        return made;
    }
    void give(void *object, std::size_t /*which*/) { std::free(object); }
    void end() {}
};

/// No allocation at all: each object has its place from the beginning. The floor of all others.
class Fixed {
  public:
    explicit Fixed(std::size_t objects) {
        std::size_t all = 0;
        for (std::size_t n = 0; n < objects; ++n) all += (size_of(n) + 15) / 16 * 16;
        space_ = std::make_unique<std::byte[]>(all + 1);
        std::byte *next = space_.get();
        for (std::size_t n = 0; n < objects; ++n) {
            places_.push_back(next);
            next += (size_of(n) + 15) / 16 * 16;
        }
    }
    void *take(std::size_t object) { return places_[object]; }
    void give(void * /*object*/, std::size_t /*which*/) {}
    void end() {}

  private:
    std::unique_ptr<std::byte[]> space_;
    std::vector<std::byte *> places_;
};

/// A region for each request, from this library: nothing is freed by itself, all at its end.
class PerRequest {
  public:
    void *take(std::size_t object) { return region_.allocate(size_of(object)); }
    void give(void * /*object*/, std::size_t /*which*/) {}
    void end() { region_.reset(); }

  private:
    reap::Region<reap::Malloc> region_;
};

/// Objects are kept for the next request, by size; at first they come from malloc.
class Pool {
  public:
    Pool() = default;
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;
    ~Pool() {
        for (const std::vector<void *> &list : free_)
            for (void *const object : list) std::free(object);
    }
    void *take(std::size_t object) {
        std::vector<void *> &list = free_[size_of(object) / 8];
        if (list.empty()) return Malloc{}.take(object);
        void *const made = list.back();
        list.pop_back();
        return made;
    }
    void give(void *object, std::size_t which) { free_[size_of(which) / 8].push_back(object); }
    void end() {}

  private:
    std::array<std::vector<void *>, 81> free_;
};

/// One pool for all threads, behind a lock.
class SharedPool {
  public:
    void *take(std::size_t object) {
        const std::scoped_lock held(lock());
        return pool().take(object);
    }
    void give(void *object, std::size_t which) {
        const std::scoped_lock held(lock());
        pool().give(object, which);
    }
    void end() {}

  private:
    static std::mutex &lock() {
        static std::mutex one;
        return one;
    }
    static Pool &pool() {
        static Pool one;
        return one;
    }
};

/// Bytes of the text that a request can read.
inline constexpr std::size_t whole_text = 2048;

/// What a request does beside: it reads so many bytes of a text, about a nanosecond each.
/// Out of line, so that it is the same code whatever memory the request has.
[[gnu::noinline]] inline std::uint64_t read_text(std::uint64_t seed, std::size_t bytes) {
    static const std::array<unsigned char, whole_text> text = [] {
        std::array<unsigned char, whole_text> made{};
        workload::Random random(1);
        for (unsigned char &each : made) each = static_cast<unsigned char>(random.next());
        return made;
    }();
    std::uint64_t sum = seed;
    for (std::size_t n = 0; n < std::min(bytes, text.size()); ++n) sum = (sum ^ text[n]) * 0x100000001b3U;
    return sum;
}

/// Answers one request; what it returns depends on all that it wrote and is the same in each memory.
template <class Memory>
std::uint64_t answer(Memory &memory, std::vector<void *> &made, std::size_t objects, std::size_t work,
                     std::uint64_t request) {
    std::uint64_t sum = read_text(request, work);
    for (std::size_t n = 0; n < objects; ++n) {
        void *const object = memory.take(n);
        const std::uint64_t value = request + n;
        std::memcpy(object, &value, sizeof value);
        std::memcpy(static_cast<char *>(object) + size_of(n) - sizeof value, &value, sizeof value);
        seen(object);
        made[n] = object;
    }
    for (std::size_t n = 0; n < objects; ++n) {
        std::uint64_t value = 0;
        std::memcpy(&value, static_cast<char *>(made[n]) + size_of(n) - sizeof value, sizeof value);
        sum = sum * 3 + value;
    }
    for (std::size_t n = 0; n < objects; ++n) memory.give(made[n], n);
    memory.end();
    return sum;
}

/// Calls `run` with memory of that kind. False where there is no such kind.
template <class Run>
bool with(std::string_view kind, std::size_t objects, Run &&run) {
    if (kind == "malloc") return run(Malloc{}), true;
    if (kind == "fixed") return run(Fixed(objects)), true;
    if (kind == "region") return run(PerRequest{}), true;
    if (kind == "pool") return run(Pool{}), true;
    if (kind == "shared") return run(SharedPool{}), true;
    return false;
}

} // namespace requests
