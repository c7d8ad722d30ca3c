// The handler of a server in seven ways: what a request allocates, and what each pattern leaves of it.
// docs/patterns.md explains them; every one gives the same answers.
//
//     server PATTERN THREADS ROUNDS <requests        answers on standard output, those of the last round
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <iterator>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <reap/face/pmr.h>
#include <reap/layer/region.h>

namespace {

// --- JSON, read once from left to right; nothing is allocated here -----------------------------------------

class Reader {
  public:
    explicit Reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    bool take(char wanted) {
        while (at_ != end_ && *at_ == ' ') ++at_;
        if (at_ == end_ || *at_ != wanted) return false;
        ++at_;
        return true;
    }
    void expect(char wanted) {
        if (!take(wanted)) throw std::runtime_error(std::string("a request lacks ") + wanted);
    }
    // A view of the request itself. Escapes are not decoded: the names in these requests have none.
    std::string_view string() {
        expect('"');
        const char *start = at_;
        while (at_ != end_ && *at_ != '"') at_ += *at_ == '\\' && at_ + 1 != end_ ? 2 : 1;
        if (at_ == end_) throw std::runtime_error("a string has no end");
        return {start, static_cast<std::size_t>(at_++ - start)};
    }
    long number() {
        while (at_ != end_ && *at_ == ' ') ++at_;
        long value = 0;
        const auto [next, error] = std::from_chars(at_, end_, value);
        if (error != std::errc{}) throw std::runtime_error("a number was expected");
        at_ = next;
        return value;
    }
    // Each member of an object, or element of an array, by a function that reads it.
    template <class Member>
    void object(Member member) {
        expect('{');
        if (take('}')) return;
        do {
            const std::string_view name = string();
            expect(':');
            member(name);
        } while (take(','));
        expect('}');
    }
    template <class Element>
    void array(Element element) {
        expect('[');
        if (take(']')) return;
        do element();
        while (take(','));
        expect(']');
    }
    // Over any value. What is nested deeper than any request of ours is refused: a stack is finite.
    void skip(int depth = 0) {
        if (depth > deepest) throw std::runtime_error("a request is nested too deeply");
        while (at_ != end_ && *at_ == ' ') ++at_;
        if (at_ == end_) throw std::runtime_error("a value was expected");
        if (*at_ == '"') {
            string();
        } else if (*at_ == '{') {
            object([this, depth](std::string_view) { skip(depth + 1); });
        } else if (*at_ == '[') {
            array([this, depth] { skip(depth + 1); });
        } else {
            while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']') ++at_;
        }
    }

  private:
    static constexpr int deepest = 64;

    const char *at_;
    const char *end_;
};

// --- What a request becomes
// ---------------------------------------------------------------------------------

using Text = std::pmr::string;
using Resource = std::pmr::memory_resource *;

struct Edge {
    using allocator_type = std::pmr::polymorphic_allocator<>;
    explicit Edge(allocator_type allocator = {}) : pop(allocator) {}
    Edge(Edge &&other, allocator_type allocator)
        : pop(std::move(other.pop), allocator), lat_ms(other.lat_ms) {}
    Edge(Edge &&) = default;
    Edge &operator=(Edge &&) = default;
    Edge(const Edge &) = delete;
    Edge &operator=(const Edge &) = delete;
    ~Edge() = default;

    Text pop;
    long lat_ms = 0;
};

// A vector that, when it is cleared, keeps its elements, and what they have allocated, for the next request.
template <class T>
class Slots {
  public:
    explicit Slots(Resource resource) : items_(resource) {}
    T &next() {
        if (used_ == items_.size()) items_.emplace_back();
        return items_[used_++];
    }
    void clear() { used_ = 0; }
    T *begin() { return items_.data(); }
    T *end() { return items_.data() + used_; }

  private:
    std::pmr::vector<T> items_;
    std::size_t used_ = 0;
};

struct Manifest {
    explicit Manifest(Resource resource = std::pmr::new_delete_resource())
        : stream(resource), codec(resource), edges(resource), tags(resource), nearest(resource),
          answer(resource) {}

    Text stream;
    Text codec;
    long segment = 0;
    Slots<Edge> edges;
    Slots<Text> tags;
    std::pmr::vector<std::pair<long, std::string_view>> nearest;
    Text answer;
};

void read_edge(Reader &json, std::string_view &pop, long &lat_ms) {
    json.object([&](std::string_view name) {
        if (name == "pop") {
            pop = json.string();
        } else if (name == "lat_ms") {
            lat_ms = json.number();
        } else {
            json.skip();
        }
    });
}

// All of the request as objects, as a parser that knows nothing of the handler has to.
void parse_all(std::string_view request, Manifest &into) {
    into.edges.clear();
    into.tags.clear();
    into.nearest.clear();
    Reader json(request);
    json.object([&](std::string_view name) {
        if (name == "stream_id") {
            into.stream = json.string();
        } else if (name == "codec") {
            into.codec = json.string();
        } else if (name == "segment_seq") {
            into.segment = json.number();
        } else if (name == "tags") {
            json.array([&] { into.tags.next() = json.string(); });
        } else if (name == "edges") {
            json.array([&] {
                Edge &edge = into.edges.next();
                std::string_view pop;
                read_edge(json, pop, edge.lat_ms);
                edge.pop = pop;
            });
        } else {
            json.skip();
        }
    });
    for (const Edge &edge : into.edges) into.nearest.emplace_back(edge.lat_ms, edge.pop);
}

// What the answer needs, as views of the request.
void parse_less(std::string_view request, Manifest &into) {
    into.nearest.clear();
    Reader json(request);
    json.object([&](std::string_view name) {
        if (name == "segment_seq") {
            into.segment = json.number();
        } else if (name == "edges") {
            json.array([&] {
                std::pair<long, std::string_view> edge;
                read_edge(json, edge.second, edge.first);
                into.nearest.push_back(edge);
            });
        } else {
            json.skip();
        }
    });
}

// The three nearest edges of the segment, on a line.
void answer(Manifest &manifest, std::string &out) {
    auto &nearest = manifest.nearest;
    const auto three = std::min<std::size_t>(3, nearest.size());
    std::partial_sort(nearest.begin(), nearest.begin() + static_cast<std::ptrdiff_t>(three), nearest.end());
    Text &text = manifest.answer;
    text.clear();
    std::array<char, 24> digits{};
    const auto number = [&](long value) {
        const auto [end, error] = std::to_chars(digits.begin(), digits.end(), value);
        text.append(digits.begin(), end);
    };
    number(manifest.segment);
    for (std::size_t i = 0; i < three; ++i) {
        text += ' ';
        text += nearest[i].second;
        text += '=';
        number(nearest[i].first);
    }
    text += '\n';
    out += text;
}

// --- Pools
// --------------------------------------------------------------------------------------------------

// Shared: one lock, taken twice a request.
class SharedPool {
  public:
    Manifest &take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            free_.push_back(&all_.emplace_back());
            free_.reserve(all_.size()); // so that give() cannot fail
        }
        Manifest &taken = *free_.back();
        free_.pop_back();
        return taken;
    }
    void give(Manifest &manifest) noexcept {
        const std::lock_guard lock(mutex_);
        free_.push_back(&manifest);
    }

  private:
    std::mutex mutex_;
    std::deque<Manifest> all_;
    std::vector<Manifest *> free_;
};

// Lock-free: a stack of numbers of slots. The upper half of the head counts changes, so that a thread that
// was interrupted between reading the head and replacing it notices that it has been away (the ABA problem).
class LockFreePool {
  public:
    explicit LockFreePool(std::uint32_t slots) : slots_(slots), next_(slots) {
        for (Manifest &each : slots_) give(each);
    }
    // A slot, or throws: with as many slots as threads there is always one.
    Manifest &take() {
        std::uint64_t head = head_.load(std::memory_order_acquire);
        for (;;) {
            const auto top = static_cast<std::uint32_t>(head);
            if (top == none) throw std::runtime_error("the pool is empty");
            const std::uint64_t below = changed(head) | next_[top].load(std::memory_order_relaxed);
            if (head_.compare_exchange_weak(head, below, std::memory_order_acquire)) return slots_[top];
        }
    }
    void give(Manifest &manifest) noexcept {
        const auto slot = static_cast<std::uint32_t>(&manifest - slots_.data());
        std::uint64_t head = head_.load(std::memory_order_relaxed);
        do next_[slot].store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
        while (!head_.compare_exchange_weak(head, changed(head) | slot, std::memory_order_release));
    }

  private:
    static constexpr std::uint32_t none = UINT32_MAX;
    static std::uint64_t changed(std::uint64_t head) { return ((head >> 32) + 1) << 32; }

    std::vector<Manifest> slots_;
    std::vector<std::atomic<std::uint32_t>> next_;
    std::atomic<std::uint64_t> head_{none};
};

// What was taken goes back, however the request ends.
template <class Pool>
class Lease {
  public:
    explicit Lease(Pool &pool) : pool_(pool), taken_(pool.take()) {}
    ~Lease() { pool_.give(taken_); }
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    Manifest &operator*() { return taken_; }

  private:
    Pool &pool_;
    Manifest &taken_;
};

// --- The patterns: each is given a request and appends its answer
// --------------------------------------------

SharedPool shared_pool;
std::unique_ptr<LockFreePool> lock_free_pool;

void per_request(std::string_view request, std::string &out) {
    Manifest manifest;
    parse_all(request, manifest);
    answer(manifest, out);
}

template <class Pool>
void from_pool(Pool &pool, std::string_view request, std::string &out) {
    Lease manifest(pool);
    parse_all(request, *manifest);
    answer(*manifest, out);
}

void pool_shared(std::string_view request, std::string &out) { from_pool(shared_pool, request, out); }

void pool_lock_free(std::string_view request, std::string &out) { from_pool(*lock_free_pool, request, out); }

void pool_thread(std::string_view request, std::string &out) {
    thread_local Manifest manifest;
    parse_all(request, manifest);
    answer(manifest, out);
}

// The thread's region keeps its chunks between requests. What lives in it is gone before it is reset.
template <void parse(std::string_view, Manifest &)>
void in_region(std::string_view request, std::string &out) {
    thread_local reap::Region region;
    thread_local reap::PmrResource resource{region};
    {
        Manifest manifest(&resource);
        parse(request, manifest);
        answer(manifest, out);
    }
    region.reset();
}

void less(std::string_view request, std::string &out) {
    Manifest manifest;
    parse_less(request, manifest);
    answer(manifest, out);
}

using Pattern = void (*)(std::string_view, std::string &);
constexpr std::pair<std::string_view, Pattern> patterns[] = {
    {"per-request", per_request},          {"pool-shared", pool_shared},    {"pool-thread", pool_thread},
    {"pool-lock-free", pool_lock_free},    {"arena", in_region<parse_all>}, {"less", less},
    {"less-arena", in_region<parse_less>},
};

} // namespace

int main(int argc, char **argv) try {
    const std::string_view name = argc == 4 ? argv[1] : "";
    const auto *found = std::find_if(std::begin(patterns), std::end(patterns),
                                     [&](const auto &each) { return each.first == name; });
    const int threads = argc == 4 ? std::atoi(argv[2]) : 0;
    const int rounds = argc == 4 ? std::atoi(argv[3]) : 0;
    if (found == std::end(patterns) || threads < 1 || rounds < 1) {
        std::fputs("usage: server PATTERN THREADS ROUNDS <requests; the patterns:", stderr);
        for (const auto &each : patterns) std::fprintf(stderr, " %s", each.first.data());
        std::fputs("\n", stderr);
        return 2;
    }
    const Pattern handle = found->second;
    lock_free_pool = std::make_unique<LockFreePool>(static_cast<std::uint32_t>(threads));

    std::vector<std::string> requests;
    for (std::string line; std::getline(std::cin, line);) requests.push_back(line);

    // Each thread has every request to answer; the answers of the first are printed.
    std::vector<std::string> answers(static_cast<std::size_t>(threads));
    std::vector<std::jthread> workers;
    for (std::string &out : answers) {
        workers.emplace_back([&out, &requests, handle, rounds] {
            for (int round = 0; round < rounds; ++round) {
                out.clear();
                for (const std::string &request : requests) try {
                        handle(request, out);
                    } catch (const std::runtime_error &error) {
                        out.append("error: ").append(error.what()) += '\n';
                    }
            }
        });
    }
    workers.clear();
    std::fputs(answers.front().c_str(), stdout);
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "server: %s\n", error.what());
    return 1;
}
