// The idioms that regions cannot serve (section 4.3 of OOPSLA 2002): an unbounded buffer, dynamic arrays,
// producer and consumer on one thread and on two. The live memory of each is bounded; that of a region is
// not, because it frees only everything at once.
//
// The custom variant has a region for each idiom, --reap a reap, --naive malloc. With --curve it prints live
// and held bytes over time, which differ between the variants. Scale: objects of each idiom, in thousands.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <new>
#include <semaphore>
#include <thread>

#include "common/workload.h"
#include "memory.h"

namespace {

/// Prints a point of the curve now and then.
template <class Kind>
class Curve {
  public:
    Curve(const char *idiom, Memory<Kind> &memory, std::size_t work, bool wanted)
        : idiom_(idiom), memory_(memory), work_(work), wanted_(wanted) {}

    /// So much of the work is done.
    void at(std::size_t done) {
        if (!wanted_ || done * points < next_ * work_) return;
        std::printf("%s,%zu,%zu,%zu\n", idiom_, done, memory_.live(), memory_.held());
        ++next_;
    }

  private:
    static constexpr std::size_t points = 64;
    const char *idiom_;
    Memory<Kind> &memory_;
    std::size_t work_;
    bool wanted_;
    std::size_t next_ = 1;
};

/// A text in a list.
struct Line {
    Line *next;
    std::size_t size; // of the whole
    [[nodiscard]] char *text() { return reinterpret_cast<char *>(this + 1); }
    [[nodiscard]] std::size_t letters() const { return size - sizeof(Line); }
};

template <class Kind>
Line *make_line(Memory<Kind> &memory, workload::Random &random) {
    const std::size_t size = sizeof(Line) + 8 + random.below(200);
    Line *const line = ::new (memory.allocate(size)) Line{nullptr, size};
    std::memset(line->text(), static_cast<int>('a' + random.below(26)), line->letters());
    return line;
}

template <class Kind>
void take_line(Memory<Kind> &memory, Line *line, workload::Checksum &checksum) {
    checksum.add(line->letters());
    checksum.add(static_cast<std::uint64_t>(line->text()[line->letters() - 1]));
    memory.deallocate(line, line->size);
}

/// Lines are written in bursts and read in bursts: a list between them that has no bound, and is sometimes
/// long.
template <class Kind>
void buffer(Memory<Kind> &memory, Curve<Kind> curve, std::size_t lines, workload::Checksum &checksum) {
    workload::Random random(43);
    Line *first = nullptr;
    Line **last = &first;
    std::size_t written = 0;
    while (written < lines) {
        const std::size_t burst = 1 + random.below(2000);
        for (std::size_t n = 0; n < burst && written < lines; ++n) {
            *last = make_line(memory, random);
            last = &(*last)->next;
            curve.at(++written);
        }
        const std::size_t patience = random.percent(10) ? lines : random.below(2000);
        for (std::size_t n = 0; n < patience && first != nullptr; ++n) {
            Line *const line = first;
            first = line->next;
            if (first == nullptr) last = &first;
            take_line(memory, line, checksum);
        }
    }
    while (first != nullptr) {
        Line *const line = first;
        first = line->next;
        take_line(memory, line, checksum);
    }
}

/// Numbers that grow and shrink at their end: twice as much room when it is full, half when a quarter is
/// left.
template <class Kind>
class Stack {
  public:
    explicit Stack(Memory<Kind> &memory) : memory_(memory) {}
    Stack(const Stack &) = delete;
    Stack &operator=(const Stack &) = delete;
    ~Stack() {
        if (room_ > 0) memory_.deallocate(values_, room_ * sizeof *values_);
    }

    void push(std::uint64_t value) {
        if (used_ == room_) make_room(room_ == 0 ? least : room_ * 2);
        values_[used_++] = value;
    }
    std::uint64_t pop() {
        const std::uint64_t value = values_[--used_];
        if (used_ * 4 < room_ && room_ > least) make_room(room_ / 2);
        return value;
    }
    [[nodiscard]] std::size_t size() const { return used_; }

  private:
    static constexpr std::size_t least = 8;
    void make_room(std::size_t room) {
        constexpr std::size_t each = sizeof *values_;
        values_ = static_cast<std::uint64_t *>(memory_.reallocate(values_, room_ * each, room * each));
        room_ = room;
    }

    Memory<Kind> &memory_;
    std::uint64_t *values_ = nullptr;
    std::size_t used_ = 0;
    std::size_t room_ = 0;
};

/// Some stacks, of which one grows or shrinks by some values at a time, as those of searches do.
template <class Kind>
void arrays(Memory<Kind> &memory, Curve<Kind> curve, std::size_t changes, workload::Checksum &checksum) {
    workload::Random random(44);
    std::deque<Stack<Kind>> some;
    for (int n = 0; n < 16; ++n) some.emplace_back(memory);
    for (std::size_t change = 0; change < changes; ++change) {
        Stack<Kind> &stack = some[random.below(some.size())];
        // All of it is taken now and then, so that no stack grows for ever.
        const bool grows = !random.percent(40);
        const std::size_t values = 1 + random.below(60);
        for (std::size_t n = 0; grows && n < values; ++n) stack.push(random.next());
        const bool all = random.percent(2);
        for (std::size_t n = 0; !grows && (all || n < values) && stack.size() > 0; ++n)
            checksum.add(stack.pop());
        curve.at(change + 1);
    }
    for (Stack<Kind> &stack : some)
        while (stack.size() > 0) checksum.add(stack.pop());
}

constexpr std::size_t waiting = 256; // lines between producer and consumer at most

/// One makes lines and the other uses them up, by turns.
template <class Kind>
void turns(Memory<Kind> &memory, Curve<Kind> curve, std::size_t lines, workload::Checksum &checksum) {
    workload::Random random(45);
    std::array<Line *, waiting> between{};
    for (std::size_t done = 0; done < lines;) {
        std::size_t made = 0;
        for (; made < waiting && done < lines; ++made) {
            between[made] = make_line(memory, random);
            curve.at(++done);
        }
        for (std::size_t taken = 0; taken < made; ++taken) take_line(memory, between[taken], checksum);
    }
}

/// The same at the same time, on two threads.
template <class Kind>
void threads(Memory<Kind> &memory, Curve<Kind> curve, std::size_t lines, workload::Checksum &checksum) {
    workload::Random random(46);
    std::array<Line *, waiting> between{};
    std::counting_semaphore<waiting> room(waiting);
    std::counting_semaphore<waiting> filled(0);
    std::thread consumer([&] {
        for (std::size_t taken = 0; taken < lines; ++taken) {
            filled.acquire();
            Line *const line = between[taken % waiting];
            room.release();
            take_line(memory, line, checksum);
        }
    });
    for (std::size_t made = 0; made < lines; ++made) {
        Line *const line = make_line(memory, random);
        room.acquire();
        between[made % waiting] = line;
        filled.release();
        curve.at(made + 1);
    }
    consumer.join();
}

template <class Kind>
int run(const workload::Options &options) {
    using Idiom = void (*)(Memory<Kind> &, Curve<Kind>, std::size_t, workload::Checksum &);
    struct Named {
        const char *name;
        Idiom go;
    };
    constexpr std::array<Named, 4> idioms{{{"buffer", buffer<Kind>},
                                           {"arrays", arrays<Kind>},
                                           {"turns", turns<Kind>},
                                           {"threads", threads<Kind>}}};
    workload::Checksum checksum; // NOLINT(misc-const-correctness): by a pointer to a function it is changed
    const std::size_t objects = options.scale * 1000;
    for (const Named &idiom : idioms) {
        Memory<Kind> memory;
        idiom.go(memory, {idiom.name, memory, objects, options.curve}, objects, checksum);
        if (memory.live() != 0) {
            std::fprintf(stderr, "region-buffers: %zu bytes of %s were not freed\n", memory.live(),
                         idiom.name);
            return 1;
        }
    }
    std::printf("%zu objects of each of %zu idioms\n", objects, idioms.size());
    workload::print(checksum);
    return 0;
}

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 1000, .may_reap = true, .may_curve = true};
    if (!workload::read(count, words, options)) return 2;
    return options.naive  ? run<InMalloc>(options)
           : options.reap ? run<InReap>(options)
                          : run<InRegion>(options);
}
