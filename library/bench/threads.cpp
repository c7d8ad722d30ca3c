#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "input.h"
#include "reap/layer/per_thread_reap.h"

// Threads: what becomes of the time of an object when more of them do the same, and what an object costs that
// one thread allocates and another frees.
//
//   bench-threads ROUNDS MOST_THREADS [NAME=LIBRARY]...
//
// The libraries are mallocs to be loaded. Prints a JSON object a line: nanoseconds an object, of CPU time in
// all threads and by the clock on the wall; and how often a thread gave the processor up, as who waits for a
// lock does. Threads are pinned to a processor each.
//
//   region   each thread: 50 objects, written, walked as a list, freed together
//   fifo     each thread: objects pass through 1,024 places, first in, first out
//   batch    one thread allocates 10,000 objects and writes them, then another reads and frees them, in turn:
//            CPU time of both, neither ever waits
//   mixed    the same; they are freed in an order drawn at random
//   pipe     the same while the other goes on: a queue between them, 64 objects at a time
//   ring     each thread allocates for the next one, and frees what the one before allocated, likewise

namespace {

constexpr std::size_t region_objects = 50;
constexpr std::size_t places = 1024;
constexpr std::size_t batch_objects = 10'000;
constexpr std::size_t round_objects = 100'000;
constexpr std::size_t parcel_objects = 64;

double now(clockid_t clock) {
    timespec at{};
    clock_gettime(clock, &at);
    return static_cast<double>(at.tv_sec) * 1e9 + static_cast<double>(at.tv_nsec);
}

long given_up() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

struct Figures {
    double cpu_ns = 0;
    double wall_ns = 0;
    long waits = 0;
};

/// What one thread does in a measurement. Only what is inside timed() counts as CPU time, all of it if that
/// is not called.
class Turn {
  public:
    explicit Turn(std::size_t number) : number_(number) {}
    [[nodiscard]] std::size_t number() const { return number_; }
    template <class Work>
    void timed(Work work) {
        const double before = now(CLOCK_THREAD_CPUTIME_ID);
        work();
        cpu_ns += now(CLOCK_THREAD_CPUTIME_ID) - before;
    }
    double cpu_ns = 0;
    double begun = 0;
    double ended = 0;
    long waits = 0;

  private:
    std::size_t number_;
};

/// Pinned threads that sleep between measurements.
class Team {
  public:
    explicit Team(std::size_t size) : size_(size) {
        cpu_set_t allowed;
        sched_getaffinity(0, sizeof allowed, &allowed);
        std::vector<int> processors;
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &allowed)) processors.push_back(cpu);
        for (std::size_t number = 0; number < size; ++number) {
            threads_.emplace_back([this, number] { work(number); });
            cpu_set_t own;
            CPU_ZERO(&own);
            CPU_SET(static_cast<std::size_t>(processors[number % processors.size()]), &own);
            pthread_setaffinity_np(threads_.back().native_handle(), sizeof own, &own);
        }
    }
    ~Team() {
        members_ = 0;
        start();
        for (std::thread &thread : threads_) thread.join();
    }
    Team(const Team &) = delete;
    Team &operator=(const Team &) = delete;
    [[nodiscard]] std::size_t size() const { return size_; }

    /// Has so many of them do the work at the same time. Twice: the first time is only to warm up.
    Figures run(std::size_t members, const std::function<void(Turn &)> &work) {
        run_once(members, work);
        return run_once(members, work);
    }

  private:
    Figures run_once(std::size_t members, const std::function<void(Turn &)> &work) {
        members_ = members;
        work_ = &work;
        turns_.clear();
        for (std::size_t number = 0; number < members; ++number) turns_.emplace_back(number);
        waiting_ = members;
        left_ = members;
        start();
        for (std::size_t left = left_; left != 0; left = left_) left_.wait(left);
        Figures figures;
        double begun = turns_[0].begun;
        double ended = 0;
        for (const Turn &turn : turns_) {
            figures.cpu_ns += turn.cpu_ns;
            figures.waits += turn.waits;
            begun = std::min(begun, turn.begun);
            ended = std::max(ended, turn.ended);
        }
        figures.wall_ns = ended - begun;
        return figures;
    }
    void start() {
        ++generation_;
        generation_.notify_all();
    }
    void work(std::size_t number) {
        for (unsigned generation = 0;;) {
            generation_.wait(generation);
            generation = generation_;
            if (members_ == 0) return;
            if (number >= members_) continue;
            --waiting_;
            while (waiting_ != 0) continue;
            Turn &turn = turns_[number];
            const long waits = given_up();
            const double cpu = now(CLOCK_THREAD_CPUTIME_ID);
            turn.begun = now(CLOCK_MONOTONIC);
            (*work_)(turn);
            turn.ended = now(CLOCK_MONOTONIC);
            if (turn.cpu_ns == 0) turn.cpu_ns = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
            turn.waits = given_up() - waits;
            if (--left_ == 0) left_.notify_all();
        }
    }

    std::size_t size_;
    std::vector<std::thread> threads_;
    std::vector<Turn> turns_;
    const std::function<void(Turn &)> *work_ = nullptr;
    std::atomic<std::size_t> members_{0};
    std::atomic<unsigned> generation_{0};
    std::atomic<std::size_t> waiting_{0};
    std::atomic<std::size_t> left_{0};
};

/// Objects on their way to another thread: of one that puts, and one that takes.
class Queue {
  public:
    using Parcel = std::array<void *, parcel_objects>;

    void put(const Parcel &parcel) {
        const std::size_t at = put_.load(std::memory_order_relaxed);
        while (at - taken_.load(std::memory_order_acquire) == slots_.size()) __builtin_ia32_pause();
        slots_[at % slots_.size()] = parcel;
        put_.store(at + 1, std::memory_order_release);
    }
    bool try_take(Parcel &parcel) {
        const std::size_t at = taken_.load(std::memory_order_relaxed);
        if (at == put_.load(std::memory_order_acquire)) return false;
        parcel = slots_[at % slots_.size()];
        taken_.store(at + 1, std::memory_order_release);
        return true;
    }
    void take(Parcel &parcel) {
        while (!try_take(parcel)) __builtin_ia32_pause();
    }
    [[nodiscard]] bool full() const {
        return put_.load(std::memory_order_relaxed) - taken_.load(std::memory_order_acquire) == slots_.size();
    }

  private:
    alignas(64) std::atomic<std::size_t> put_{0};
    alignas(64) std::atomic<std::size_t> taken_{0};
    alignas(64) std::array<Parcel, 32> slots_{};
};

// The contenders: an object of each for all threads.

/// A pointer and a buffer for each thread, which is used again from its beginning when it is full.
class Bump {
  public:
    static constexpr bool frees_all = true;
    static constexpr bool frees_elsewhere = false;

    void *allocate(std::size_t size) {
        Mine &mine = mine_;
        size = (size + 15) & ~std::size_t{15};
        if (size > static_cast<std::size_t>(mine.end - mine.next)) [[unlikely]]
            begin(mine);
        void *const object = mine.next;
        mine.next += size;
        return object;
    }
    void free_one(void * /*object*/) {}
    void free_all() { mine_.next = mine_.buffer.get(); }

  private:
    struct Mine {
        std::unique_ptr<char[]> buffer;
        char *next = nullptr;
        char *end = nullptr;
    };
    static constexpr std::size_t buffer_bytes = std::size_t{1} << 20U;
    [[gnu::noinline]] static void begin(Mine &mine) {
        if (mine.buffer == nullptr) mine.buffer.reset(new char[buffer_bytes + 64]);
        mine.next = mine.buffer.get();
        mine.end = mine.next + buffer_bytes;
    }
    static thread_local Mine mine_;
};
thread_local Bump::Mine Bump::mine_;

class Reap {
  public:
    static constexpr bool frees_all = true;
    static constexpr bool frees_elsewhere = true;

    void *allocate(std::size_t size) { return reaps_.allocate(size); }
    void free_one(void *object) { Reaps::deallocate(object); }
    void free_all() { reaps_.local().reset(); }

  private:
    using Reaps = reap::PerThreadReap<>;
    Reaps reaps_;
};

class Malloc {
  public:
    static constexpr bool frees_all = false;
    static constexpr bool frees_elsewhere = true;

    Malloc(void *(*allocates)(std::size_t), void (*frees)(void *)) : allocate_(allocates), free_(frees) {}
    void *allocate(std::size_t size) { return allocate_(size); }
    void free_one(void *object) { free_(object); }

  private:
    void *(*allocate_)(std::size_t);
    void (*free_)(void *);
};

struct Node {
    Node *next;
    std::uint64_t value;
};

/// Each thread begins at another place of the input.
const std::uint16_t *sizes_of(std::size_t thread) {
    return bench::Input::get().sizes() + thread * 10'007 % (bench::many / 2);
}

template <class Contender>
void region(Contender &contender, std::size_t thread) {
    const std::uint16_t *const sizes = sizes_of(thread);
    std::uint64_t sum = 0;
    for (std::size_t done = 0; done < round_objects; done += region_objects) {
        Node *list = nullptr;
        const std::uint16_t *const mine = sizes + done % bench::Input::few;
        for (std::size_t at = 0; at < region_objects; ++at)
            list = ::new (contender.allocate(mine[at])) Node{list, at};
        for (Node *node = list; node != nullptr;) {
            Node *const next = node->next;
            sum += node->value;
            if constexpr (!Contender::frees_all) contender.free_one(node);
            node = next;
        }
        if constexpr (Contender::frees_all) contender.free_all();
    }
    if (sum == 1) std::abort();
}

template <class Contender>
void fifo(Contender &contender, std::size_t thread) {
    const std::uint16_t *const sizes = sizes_of(thread);
    std::array<Node *, places> live{};
    for (std::size_t at = 0; at < round_objects; ++at) {
        Node *&place = live[at % places];
        if (place != nullptr) {
            if (place->value != at - places) std::abort();
            contender.free_one(place);
        }
        place = ::new (contender.allocate(sizes[at % bench::Input::few])) Node{nullptr, at};
    }
    for (Node *node : live) contender.free_one(node);
}

/// The turn of each thread, whose number that is.
class Baton {
  public:
    void wait_for(std::size_t number) {
        while (turn_.load(std::memory_order_acquire) != number) __builtin_ia32_pause();
    }
    void pass_to(std::size_t number) { turn_.store(number, std::memory_order_release); }

  private:
    std::atomic<std::size_t> turn_{0};
};

/// Which object is the next to be freed.
std::vector<std::uint32_t> order(bool mixed) {
    std::vector<std::uint32_t> order(batch_objects);
    std::iota(order.begin(), order.end(), 0U);
    if (mixed) std::shuffle(order.begin(), order.end(), std::mt19937(1));
    return order;
}

template <class Contender>
void batch(Contender &contender, Turn &turn, Baton &baton, std::vector<Node *> &objects,
           const std::vector<std::uint32_t> &order) {
    const std::uint16_t *const sizes = sizes_of(0);
    for (std::size_t done = 0; done < round_objects; done += batch_objects) {
        baton.wait_for(turn.number());
        turn.timed([&] {
            for (std::size_t at = 0; at < batch_objects; ++at) {
                if (turn.number() == 0) {
                    objects[at] = ::new (contender.allocate(sizes[at])) Node{nullptr, at};
                } else {
                    Node *const node = objects[order[at]];
                    if (node->value != order[at]) std::abort();
                    contender.free_one(node);
                }
            }
        });
        baton.pass_to(1 - turn.number());
    }
}

template <class Contender>
void produce(Contender &contender, Queue::Parcel &parcel, const std::uint16_t *sizes) {
    for (std::size_t at = 0; at < parcel.size(); ++at)
        parcel[at] = ::new (contender.allocate(sizes[at])) Node{nullptr, at};
}
template <class Contender>
void consume(Contender &contender, const Queue::Parcel &parcel) {
    for (std::size_t at = 0; at < parcel.size(); ++at) {
        if (static_cast<Node *>(parcel[at])->value != at) std::abort();
        contender.free_one(parcel[at]);
    }
}

template <class Contender>
void pipe(Contender &contender, std::size_t thread, Queue &queue) {
    Queue::Parcel parcel;
    for (std::size_t done = 0; done < round_objects; done += parcel_objects) {
        if (thread == 0) {
            produce(contender, parcel, sizes_of(0) + done % bench::Input::few);
            queue.put(parcel);
        } else {
            queue.take(parcel);
            consume(contender, parcel);
        }
    }
}

/// Nobody waits for a place in a queue without emptying his own.
template <class Contender>
void ring(Contender &contender, std::size_t thread, std::vector<Queue> &queues) {
    Queue &mine = queues[thread];
    Queue &next = queues[(thread + 1) % queues.size()];
    std::size_t consumed = 0;
    Queue::Parcel parcel;
    const auto take = [&] {
        Queue::Parcel taken;
        if (!mine.try_take(taken)) return;
        consume(contender, taken);
        consumed += parcel_objects;
    };
    for (std::size_t done = 0; done < round_objects; done += parcel_objects) {
        produce(contender, parcel, sizes_of(thread) + done % bench::Input::few);
        while (next.full()) take();
        next.put(parcel);
        take();
    }
    while (consumed < (round_objects + parcel_objects - 1) / parcel_objects * parcel_objects) take();
}

void print(int round, const char *workload, const std::string &contender, std::size_t threads,
           const Figures &figures, std::size_t objects) {
    std::printf("{\"round\": %d, \"workload\": \"%s\", \"contender\": \"%s\", \"threads\": %zu, "
                "\"cpu_ns\": %.4f, \"wall_ns\": %.4f, \"waits\": %ld}\n",
                round, workload, contender.c_str(), threads, figures.cpu_ns / static_cast<double>(objects),
                figures.wall_ns / static_cast<double>(objects), figures.waits);
    std::fflush(stdout);
}

/// All that a contender can do. An object is one that was allocated and freed.
template <class Contender>
void measure(Team &team, int round, const std::string &name, Contender &contender) {
    for (std::size_t threads = 1; threads <= team.size(); ++threads) {
        const std::size_t objects = threads * round_objects;
        const Figures together = team.run(threads, [&](Turn &turn) { region(contender, turn.number()); });
        print(round, "region", name, threads, together, objects);
        const Figures one_by_one = team.run(threads, [&](Turn &turn) { fifo(contender, turn.number()); });
        print(round, "fifo", name, threads, one_by_one, objects);
        if constexpr (Contender::frees_elsewhere) {
            if (threads < 2) continue;
            std::vector<Queue> queues(threads);
            const Figures handed =
                team.run(threads, [&](Turn &turn) { ring(contender, turn.number(), queues); });
            print(round, "ring", name, threads, handed, objects);
        }
    }
    if constexpr (Contender::frees_elsewhere) {
        if (team.size() < 2) return;
        for (const bool mixed : {false, true}) {
            Baton baton;
            std::vector<Node *> objects(batch_objects);
            const std::vector<std::uint32_t> which = order(mixed);
            const Figures batches =
                team.run(2, [&](Turn &turn) { batch(contender, turn, baton, objects, which); });
            print(round, mixed ? "mixed" : "batch", name, 2, batches, round_objects);
        }
        Queue queue;
        const Figures piped = team.run(2, [&](Turn &turn) { pipe(contender, turn.number(), queue); });
        print(round, "pipe", name, 2, piped, round_objects);
    }
}

Malloc load(const std::string &name, const std::string &path) {
    // Its own malloc stays its own: the program's is glibc's.
    void *const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (library == nullptr) {
        std::fprintf(stderr, "bench-threads: cannot load %s: %s\n", name.c_str(), dlerror());
        std::exit(2);
    }
    const auto find = [&](const char *ours, const char *plain) {
        void *const function = dlsym(library, ours);
        return function != nullptr ? function : dlsym(library, plain);
    };
    return {reinterpret_cast<void *(*)(std::size_t)>(find("mi_malloc", "malloc")),
            reinterpret_cast<void (*)(void *)>(find("mi_free", "free"))};
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: bench-threads ROUNDS MOST_THREADS [NAME=LIBRARY]...\n");
        return 2;
    }
    const auto rounds = static_cast<int>(std::strtol(argv[1], nullptr, 10));
    Bump bump;
    Reap reap;
    std::vector<std::pair<std::string, Malloc>> mallocs;
    mallocs.emplace_back("glibc", Malloc(std::malloc, std::free));
    for (int at = 3; at < argc; ++at) {
        const std::string_view option = argv[at];
        const std::string name(option.substr(0, option.find('=')));
        mallocs.emplace_back(name, load(name, std::string(option.substr(option.find('=') + 1))));
    }
    Team team(std::strtoull(argv[2], nullptr, 10));
    bench::Input::get();
    // The order turns from round to round. The first one is not printed: nothing is warm then.
    const std::size_t contenders = mallocs.size() + 2;
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t at = 0; at < contenders; ++at) {
            const std::size_t which = (at + static_cast<std::size_t>(round)) % contenders;
            if (which == 0)
                measure(team, round, "bump", bump);
            else if (which == 1)
                measure(team, round, "Reap", reap);
            else
                measure(team, round, mallocs[which - 2].first, mallocs[which - 2].second);
        }
    }
    return 0;
}
