#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include <benchmark/benchmark.h>

#include "contender.h"
#include "input.h"

// The workloads. A turn ends with nothing allocated, so that turns can follow one another. Each turn() is out
// of line: what is measured is the allocator inlined into its user's loop, and the allocator's state in
// memory before and after.

namespace bench {

/// The first 16 bytes of every object.
struct Node {
    Node *next;
    std::uint64_t value;
};

inline Node *make_node(void *object, Node *next, std::uint64_t value) {
    return ::new (object) Node{next, value};
}

/// a50, a50F, a1M, a1MF: allocate objects, linking each to the one before; walk the list; free all. Full:
/// every byte of the objects is written and read, otherwise 16.
template <std::size_t Count, bool Full>
class Lists {
  public:
    static constexpr std::size_t objects = Count;
    static constexpr std::size_t bytes = Count * 40 + 4096;

    template <Contender A>
    [[gnu::noinline]] std::uint64_t turn(A &allocator) {
        const std::uint16_t *const sizes = Input::get().sizes() + at_;
        if constexpr (Count < Input::few) at_ = (at_ + Count) % (Input::few - Count);
        Node *list = nullptr;
        for (std::size_t number = 0; number < Count; ++number) {
            const std::size_t size = sizes[number];
            void *const object = allocator.allocate(size);
            if constexpr (Full) std::memset(object, static_cast<int>(number), size);
            list = make_node(object, list, number);
        }
        std::uint64_t sum = 0;
        std::size_t number = Count;
        for (const Node *node = list; node != nullptr; node = node->next) {
            --number;
            sum += Full ? sum_of_bytes(node, sizes[number]) : node->value;
        }
        if constexpr (A::frees_all) {
            allocator.free_all();
        } else {
            for (number = Count; list != nullptr;) {
                Node *const next = list->next;
                allocator.free_one(list, sizes[--number]);
                list = next;
            }
        }
        return sum;
    }

  private:
    std::size_t at_ = 0;
};

/// b30, b90: a million allocations, after 30 (90) of a hundred of which one of the live objects, drawn at
/// random, is freed.
template <unsigned Percent>
class Mixed {
  public:
    static constexpr std::size_t objects = many;
    static constexpr std::size_t bytes = many * 40;

    Mixed() : live_(many) {}

    template <Contender A>
    [[gnu::noinline]] std::uint64_t turn(A &allocator) {
        const std::uint16_t *const sizes = Input::get().sizes();
        const std::uint32_t *const victims = Input::get().victims(Percent);
        Live *const live = live_.data();
        std::size_t count = 0;
        for (std::size_t number = 0; number < objects; ++number) {
            void *const object = allocator.allocate(sizes[number]);
            make_node(object, nullptr, number);
            live[count++] = {object, sizes[number]};
            if (const std::uint32_t victim = victims[number]; victim != Input::none) {
                allocator.free_one(live[victim].object, live[victim].size);
                live[victim] = live[--count];
            }
        }
        if constexpr (A::frees_all) {
            allocator.free_all();
        } else {
            for (std::size_t number = 0; number < count; ++number)
                allocator.free_one(live[number].object, live[number].size);
        }
        return count;
    }

  private:
    struct Live {
        void *object;
        std::size_t size;
    };
    std::vector<Live> live_;
};

/// fifo: two million objects pass through 1,024 places, first in, first out.
class Fifo {
  public:
    static constexpr std::size_t objects = 2 * many;
    static constexpr std::size_t bytes = objects * 40;

    template <Contender A>
    [[gnu::noinline]] std::uint64_t turn(A &allocator) {
        const std::uint16_t *const sizes = Input::get().sizes();
        places_ = {};
        for (std::size_t number = 0; number < objects; ++number) {
            Place &place = places_[number % places_.size()];
            if (place.object != nullptr) allocator.free_one(place.object, place.size);
            place.size = sizes[number % many];
            place.object = allocator.allocate(place.size);
            make_node(place.object, nullptr, number);
        }
        if constexpr (A::frees_all) {
            allocator.free_all();
        } else {
            for (const Place &place : places_) allocator.free_one(place.object, place.size);
        }
        return objects;
    }

  private:
    struct Place {
        void *object;
        std::size_t size;
    };
    std::array<Place, 1024> places_{};
};

/// crt: create a region, allocate ten objects, destroy it. One object here is one region there.
class Create {
  public:
    static constexpr std::size_t objects = 1;
    static constexpr std::size_t bytes = 4096;

    template <Contender A>
    [[gnu::noinline]] std::uint64_t turn(A & /*not used*/) {
        const std::uint16_t *const sizes = Input::get().sizes() + at_;
        at_ = (at_ + per_region) % (Input::few - per_region);
        // As the sizes, so the number of objects is not known to the compiler.
        std::size_t count = per_region;
        benchmark::DoNotOptimize(count);
        A allocator(bytes);
        Node *list = nullptr;
        for (std::size_t number = 0; number < count; ++number)
            list = make_node(allocator.allocate(sizes[number]), list, number);
        if constexpr (!A::frees_all) {
            for (std::size_t number = count; list != nullptr;) {
                Node *const next = list->next;
                allocator.free_one(list, sizes[--number]);
                list = next;
            }
        }
        return at_;
    }

  private:
    static constexpr std::size_t per_region = 10;
    std::size_t at_ = 0;
};

/// rea: an object of 32 bytes grows 31 times by 32 and 16 of the new bytes are written; ten such, then free
/// all. One object here is one time that one grew.
class Grow {
  public:
    static constexpr std::size_t objects = 310;
    static constexpr std::size_t bytes = std::size_t{256} << 10; // where the old one stays behind

    template <Contender A>
    [[gnu::noinline]] std::uint64_t turn(A &allocator) {
        for (std::size_t number = 0; number < grown_.size(); ++number) {
            std::size_t size = 32;
            void *object = first(allocator, size);
            make_node(object, nullptr, number);
            for (; size < largest; size += 32) {
                object = allocator.grow_last(object, size, size + 32);
                make_node(static_cast<char *>(object) + size, nullptr, number);
            }
            grown_[number] = object;
        }
        if constexpr (A::frees_all) {
            allocator.free_all();
        } else {
            for (void *const object : grown_) allocator.free_one(object, largest);
        }
        return objects;
    }

  private:
    static constexpr std::size_t largest = 1024;

    /// Some want to know beforehand that an object is going to grow.
    template <Contender A>
    static void *first(A &allocator, std::size_t size) {
        if constexpr (requires { allocator.allocate_growing(size); }) {
            return allocator.allocate_growing(size);
        } else {
            return allocator.allocate(size);
        }
    }

    std::array<void *, 10> grown_{};
};

/// phase: ten phases of 16 MB live, each of objects of one new size, freed one by one in random order. For
/// its peak alone.
class Phases {
  public:
    static constexpr std::size_t objects = 1;
    static constexpr std::size_t bytes = 10 * (std::size_t{17} << 20);

    template <Contender A>
    [[gnu::noinline]] std::uint64_t turn(A &allocator) {
        const std::uint32_t *const draws = Input::get().victims(90);
        for (std::size_t phase = 0; phase < 10; ++phase) {
            const std::size_t size = smallest + 24 * phase;
            for (std::size_t number = 0; number < live_bytes / size; ++number) {
                live_[number] = allocator.allocate(size);
                make_node(live_[number], nullptr, number);
            }
            for (std::size_t count = live_bytes / size; count > 0; --count) {
                // The draws were made for another number of live objects: random enough here.
                const std::size_t victim = (draws[count % many] * 2654435761U) % count;
                allocator.free_one(live_[victim], size);
                live_[victim] = live_[count - 1];
            }
        }
        allocator.free_all();
        return 0;
    }

  private:
    static constexpr std::size_t live_bytes = std::size_t{16} << 20;
    static constexpr std::size_t smallest = 24;

    std::vector<void *> live_ = std::vector<void *>(live_bytes / smallest);
};

} // namespace bench
