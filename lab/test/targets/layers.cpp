// Objects of each of the library's layers at random, and their drag by the definition: for the drag engine to
// agree with. Compiled with REAP_MARK_POOLS=1, and for the exact engine with REAP_MARK_VALGRIND=1.
//
//     layers SEED
//
// A process for each layer, which prints "LAYER PID LIVE NEEDED OBJECTS BYTES": the areas under its bytes in
// use and under those needed, how many objects were allocated, and the bytes that were asked for.
#include "reap/layer/best_fit.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/locked.h"
#include "reap/layer/mempool.h"
#include "reap/layer/obstack.h"
#include "reap/layer/owned_reap.h"
#include "reap/layer/per_class.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/per_thread_reap.h"
#include "reap/layer/quicklists.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/size_class_allocator.h"
#include "reap/layer/stack_like.h"
#include "reap/source/buffer.h"
#include "reap/source/malloc.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int kMost = 3000;

struct Object {
    volatile char *at;
    std::size_t size;
    int birth, last, freed;
};
Object objects[kMost];
int count = 0;
std::uint64_t state;

unsigned random_below(unsigned limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>(state >> 33) % limit;
}

// The bookkeeping. An object is a step, so their number is the clock.
Object *born(void *at, std::size_t size) {
    Object *const object = &objects[count++];
    *object = {static_cast<volatile char *>(at), size, count, count, 0};
    return object;
}
void died(Object &object) {
    if (object.freed == 0) object.freed = count;
}
void all_died_since(int first) {
    for (int at = first; at < count; ++at) died(objects[at]);
}
Object *newest() { return count > 0 && objects[count - 1].freed == 0 ? &objects[count - 1] : nullptr; }
volatile int seen;
void use(Object &object) {
    volatile char &byte = object.at[random_below(static_cast<unsigned>(object.size))];
    if (random_below(2) == 0)
        byte = 1;
    else
        seen = seen + byte;
    object.last = count;
}

// Some live object; null if one was not found at once.
Object *some() {
    if (count == 0) return nullptr;
    Object &object = objects[random_below(static_cast<unsigned>(count))];
    return object.freed == 0 ? &object : nullptr;
}

// What programs do with a layer; a layer that has no such thing has none here.
template <class Way>
void live(Way &&way) {
    while (count < kMost - 2) {
        way.make();
        for (int i = 0; i < 2; ++i)
            if (Object *const object = some(); object != nullptr && object->size > 0) use(*object);
        if (random_below(2) == 0) {
            if constexpr (requires { way.drop(*some()); }) {
                if (Object *const object = some(); object != nullptr) way.drop(*object);
            }
            if constexpr (requires { way.drop_newest(*newest()); }) {
                if (Object *const object = newest(); object != nullptr) way.drop_newest(*object);
            }
        }
        if (random_below(8) == 0) {
            if constexpr (requires { way.resize(*newest()); }) {
                if (Object *const object = newest(); object != nullptr) way.resize(*object);
            }
        }
        if (random_below(60) == 0) {
            if constexpr (requires { way.rewind(); }) way.rewind();
        }
        if (random_below(300) == 0) {
            if constexpr (requires { way.empty(); }) {
                way.empty();
                all_died_since(0);
            }
        }
    }
}

unsigned small_size() { return 1 + random_below(64); }
unsigned any_size() { return random_below(50) == 0 ? 1 + random_below(300000) : 1 + random_below(200); }

// A layer that is told the sizes of what it takes back.
template <class Layer, unsigned size()>
struct Told {
    Layer &layer;
    void make() {
        const std::size_t bytes = size();
        born(layer.allocate(bytes, 8), bytes);
    }
    void drop(Object &object) {
        died(object);
        layer.deallocate(const_cast<char *>(object.at), object.size, 8);
    }
    void empty()
        requires requires { layer.reset(); }
    {
        layer.reset();
    }
};

template <class Layer>
struct Moves : Told<Layer, any_size> {
    void resize(Object &object) {
        const std::size_t bytes = any_size();
        void *const old = const_cast<char *>(object.at);
        void *const moved = this->layer.reallocate(old, bytes);
        if (moved != old) object.last = count + 1; // in the step of the new one, which the copy is in
        Object *const fresh = born(moved, bytes);
        if (moved != old) {
            fresh->last = count;
            object.freed = count;
        } else {
            object.freed = count - 1;
        }
    }
};

template <class Layer>
struct Marks : Told<Layer, any_size> {
    struct Taken {
        typename Layer::Mark mark;
        int count;
    };
    std::array<Taken, 4> marks{};
    std::size_t taken = 0;
    void rewind() {
        if (taken < marks.size() && random_below(2) == 0) {
            marks[taken++] = {this->layer.mark(), count};
        } else if (taken > 0) {
            taken = 1 + random_below(static_cast<unsigned>(taken));
            this->layer.rewind(marks[taken - 1].mark);
            all_died_since(marks[taken - 1].count);
        }
    }
    void empty() {
        this->layer.reset();
        taken = 0;
    }
};

struct InRegion : Marks<reap::Region<>> {
    int plain = 0; // the newest object that nothing else of the region's lies behind
    void drop(Object &) = delete;
    // Once in a row: the one before may be the last of an older chunk, and stays.
    void drop_newest(Object &object) {
        if (plain != count) return;
        died(object);
        layer.deallocate(const_cast<char *>(object.at), object.size);
        plain = 0;
    }
    void make() {
        if (random_below(10) != 0) {
            Marks::make();
            plain = count;
            return;
        }
        struct Ends {
            char bytes[40];
            ~Ends() {}
        };
        born(layer.create<Ends>(), sizeof(Ends));
    }
    void resize(Object &object) {
        const std::size_t bytes = 1 + random_below(100);
        if (plain != count || object.size > 200 || bytes <= object.size) return;
        if (!layer.resize(const_cast<char *>(object.at), object.size, bytes)) return;
        died(object);
        born(const_cast<char *>(object.at), bytes);
        plain = count;
    }
    void rewind() {
        Marks::rewind();
        plain = 0;
    }
};

template <class Layer>
struct OneSize {
    Layer &layer;
    std::size_t size;
    void make() { born(layer.allocate(), size); }
    void drop(Object &object) {
        died(object);
        layer.deallocate(reinterpret_cast<decltype(layer.allocate())>(const_cast<char *>(object.at)));
    }
    void empty()
        requires requires { layer.clear(); }
    {
        layer.clear();
    }
};

struct InObstack {
    reap::Obstack<> &layer;
    void make() {
        const unsigned bytes = any_size();
        if (random_below(4) != 0) {
            born(layer.allocate(bytes), bytes);
            return;
        }
        for (unsigned done = 0; done < bytes; ++done) layer.push('x');
        born(layer.finish(), bytes);
    }
    void rewind() {
        Object *const object = some();
        if (object == nullptr) return;
        layer.free_from(const_cast<char *>(object->at));
        all_died_since(static_cast<int>(object - objects));
    }
    void empty() { layer.reset(); }
};

struct InBuffer {
    reap::Buffer &layer;
    void make() {
        const unsigned bytes = small_size();
        void *const object = layer.allocate(bytes, 8);
        born(object, bytes);
    }
    void drop_newest(Object &object) {
        died(object);
        layer.deallocate(const_cast<char *>(object.at), object.size);
    }
};

// Some of what is freed, another thread frees.
template <class Layer>
struct ElsewhereToo : Told<Layer, small_size> {
    struct Freed {
        Layer &layer;
        Object &object;
    };
    static void *free_it(void *words) {
        const auto &[layer, object] = *static_cast<Freed *>(words);
        layer.deallocate(const_cast<char *>(object.at), object.size, 8);
        return nullptr;
    }
    void drop(Object &object) {
        if (random_below(40) != 0) return Told<Layer, small_size>::drop(object);
        died(object);
        // Not std::thread, which would allocate.
        pthread_t thread;
        Freed freed{this->layer, object};
        if (pthread_create(&thread, nullptr, free_it, &freed) != 0) std::abort();
        pthread_join(thread, nullptr);
    }
};

// What a region takes its chunks from: they are no objects.
using Inner = reap::Locked<reap::Reap<>>;

template <class Layer>
struct OnlyTogether {
    Layer &layer;
    void make() {
        const unsigned bytes = any_size();
        born(layer.allocate(bytes), bytes);
    }
    void empty() { layer.reset(); }
};

int check_model(const char *layer) {
    unsigned __int128 areas[2] = {};
    std::uint64_t bytes = 0;
    std::uint64_t until[kMost + 1] = {}; // bytes of all steps up to that one
    for (int at = 0; at < count; ++at) until[at + 1] = until[at] + objects[at].size;
    for (int at = 0; at < count; ++at) {
        Object &object = objects[at];
        died(object);
        bytes += object.size;
        areas[0] +=
            static_cast<unsigned __int128>(object.size) * (until[object.freed] - until[object.birth - 1]);
        areas[1] +=
            static_cast<unsigned __int128>(object.size) * (until[object.last] - until[object.birth - 1]);
    }
    // No area here needs more than 64 bits.
    char line[256];
    const int length =
        std::snprintf(line, sizeof line, "%s %d %llu %llu %d %llu\n", layer, getpid(),
                      static_cast<unsigned long long>(areas[0]), static_cast<unsigned long long>(areas[1]),
                      count, static_cast<unsigned long long>(bytes));
    return write(1, line, static_cast<std::size_t>(length)) == length ? 0 : 1;
}

template <class Run>
void in_a_process_of_its_own(const char *layer, Run run) {
    const pid_t child = fork();
    if (child == 0) {
        run();
        _exit(check_model(layer));
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0) std::exit(1);
}

} // namespace

int main(int, char **words) {
    state = std::strtoull(words[1], nullptr, 10);
    reap_mark_pool_clear(&state); // so that the first mark's look is done
    { // a thread's cached chunks need a word with the C library before their end, once
        reap::SizedReap<> layer;
        for (int at = 0; at < 100; ++at) (void)layer.allocate(10000);
    }
    pthread_t thread; // what the C library allocates for the first thread, it uses again
    pthread_create(&thread, nullptr, [](void *) -> void * { return nullptr; }, nullptr);
    pthread_join(thread, nullptr);
    in_a_process_of_its_own("fixed-block", [] {
        reap::FixedBlock<> layer(64);
        live(Told<reap::FixedBlock<>, small_size>{layer});
    });
    in_a_process_of_its_own("size-classes", [] {
        reap::SizeClassAllocator<> layer;
        live(Told<reap::SizeClassAllocator<>, small_size>{layer});
    });
    in_a_process_of_its_own("per-class", [] {
        reap::PerClass<std::array<char, 40>> layer;
        live(OneSize<decltype(layer)>{layer, 40});
    });
    in_a_process_of_its_own("mempool", [] {
        reap::Mempool<std::array<char, 48>> layer;
        live(OneSize<decltype(layer)>{layer, 48});
    });
    in_a_process_of_its_own("stack-like", [] {
        reap::StackLike<> layer;
        live(Told<reap::StackLike<>, any_size>{layer});
    });
    in_a_process_of_its_own("best-fit", [] {
        reap::BestFit<> layer;
        live(Told<reap::BestFit<>, any_size>{layer});
    });
    in_a_process_of_its_own("quicklists", [] {
        reap::Quicklists<reap::BestFit<>> layer;
        live(Told<decltype(layer), any_size>{layer});
    });
    in_a_process_of_its_own("region", [] {
        reap::Region<> layer;
        live(InRegion{{{layer}}});
    });
    in_a_process_of_its_own("region-of-malloc", [] {
        reap::Region<reap::Malloc> layer;
        live(OnlyTogether<decltype(layer)>{layer});
    });
    in_a_process_of_its_own("region-in-a-reap", [] {
        Inner inner;
        reap::Region<reap::Ref<Inner>> layer{inner};
        live(OnlyTogether<decltype(layer)>{layer});
    });
    in_a_process_of_its_own("obstack", [] {
        reap::Obstack<> layer;
        live(InObstack{layer});
    });
    in_a_process_of_its_own("reap", [] {
        reap::Reap<> layer;
        live(Moves<reap::Reap<>>{{layer}});
    });
    in_a_process_of_its_own("reap-with-marks", [] {
        reap::Reap<> layer;
        live(Marks<reap::Reap<>>{{layer}});
    });
    in_a_process_of_its_own("sized-reap", [] {
        reap::SizedReap<> layer;
        live(Told<reap::SizedReap<>, any_size>{layer});
    });
    in_a_process_of_its_own("owned-reap", [] {
        reap::OwnedReap<> layer;
        live(Moves<reap::OwnedReap<>>{{layer}});
    });
    in_a_process_of_its_own("per-thread-reap", [] {
        reap::PerThreadReap<> layer;
        live(ElsewhereToo<reap::PerThreadReap<>>{{layer}});
    });
    in_a_process_of_its_own("per-thread-classes", [] {
        reap::PerThread<reap::SizeClassAllocator<>> layer;
        live(ElsewhereToo<decltype(layer)>{{layer}});
    });
    in_a_process_of_its_own("buffer", [] {
        static char memory[1 << 18];
        reap::Buffer layer(memory);
        live(InBuffer{layer});
    });
    return 0;
}
