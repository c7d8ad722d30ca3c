// C++ programs whose cause is known by construction.
//
//     cause-cpp NAME [SCALE [cured]]
//
// As cause.c: SCALE multiplies the work, and `cured` does the same work without the fault. Prints a sum that
// is the same in every run.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <malloc.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

bool cured;

std::uint64_t next_number(std::uint64_t &state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

[[gnu::noinline]] std::uint64_t compute(std::uint64_t turns, std::uint64_t seed) {
    for (; turns > 0; turns--) seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

// A request makes 300 strings that live until its end: a thread's cache keeps seven of a size.
void requests(double scale) {
    std::uint64_t state = 1, sum = 0;
    const std::string text(600, 'x');
    std::thread([] {}).join(); // from then on the C library takes its locks
    std::vector<std::string_view> views(300);
    for (long turn = static_cast<long>((cured ? 200000 : 40000) * scale); turn > 0; turn--) {
        if (cured) {
            for (auto &view : views) view = std::string_view(text).substr(0, 150 + next_number(state) % 350);
            for (const auto &view : views) sum += view.size();
        } else {
            std::vector<std::string> strings;
            strings.reserve(300);
            for (int at = 0; at < 300; at++) strings.emplace_back(text, 0, 150 + next_number(state) % 350);
            for (const auto &string : strings) sum += string.size();
        }
        state = compute(1500, state);
    }
    std::printf("%lu\n", sum);
}

// 300 objects are allocated and freed in an order that no cache serves. Cured, they are elements of one
// array. The difference is the allocator's time, including what its calls cost the CPU.
void share(double scale) {
    enum { OBJECTS = 300, LARGEST = 500 };
    std::uint64_t state = 1, sum = 0;
    std::thread([] {}).join();
    std::vector<char> places(OBJECTS * LARGEST);
    char *objects[OBJECTS];
    for (long turn = static_cast<long>(30000 * scale); turn > 0; turn--) {
        for (int at = 0; at < OBJECTS; at++) {
            const std::size_t size = 150 + next_number(state) % (LARGEST - 150);
            objects[at] = cured ? &places[static_cast<std::size_t>(at) * LARGEST] : new char[size];
            objects[at][0] = static_cast<char>(at);
        }
        for (char *object : objects) {
            sum += static_cast<std::uint64_t>(object[0]);
            if (!cured) delete[] object;
        }
        state = compute(8000, state);
    }
    std::printf("%lu %lu\n", sum, state);
}

[[gnu::noinline]] std::string answer_to(std::uint64_t question) {
    return std::to_string(question) + std::string(400, 'a');
}

// A cache of answers without a bound. Cured, it is emptied at 10,000.
void cache(double scale) {
    std::unordered_map<std::uint64_t, std::string> answers;
    std::uint64_t sum = 0;
    for (std::uint64_t question = 0; question < static_cast<std::uint64_t>(400000 * scale); question++) {
        auto &answer = answers[question];
        answer = answer_to(question);
        sum += compute(700, answer.size()) & 1;
        if (cured && answers.size() >= 10000) answers.clear();
    }
    std::printf("%lu\n", sum);
}

using Batch = std::vector<std::unique_ptr<char[]>>;

Batch made(std::uint64_t &state) {
    Batch batch(200);
    for (auto &block : batch) block.reset(new char[1100 + next_number(state) % 2000]);
    for (auto &block : batch) block[0] = 1;
    return batch;
}

// One thread makes what another frees. Cured, each frees what it made, and hands over a number.
void frees(double scale) {
    mallopt(M_TRIM_THRESHOLD, 512 << 20); // else the heap is trimmed for each batch
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Batch> waiting;
    const long turns = static_cast<long>(30000 * scale);
    std::uint64_t sum = 0;
    std::thread consumer([&] {
        for (long turn = 0; turn < turns; turn++) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return !waiting.empty(); });
            Batch batch = std::move(waiting.front());
            waiting.pop_front();
            lock.unlock();
            changed.notify_all();
            sum += batch.empty() ? 1 : static_cast<std::uint64_t>(batch[0][0]);
        }
    });
    std::uint64_t state = 1;
    for (long turn = 0; turn < turns; turn++) {
        Batch batch = made(state);
        if (cured) batch = Batch();
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return waiting.size() < 64; });
        waiting.push_back(std::move(batch));
        lock.unlock();
        changed.notify_all();
    }
    consumer.join();
    std::printf("%lu\n", sum);
}

// Two threads increment separate counters on one cache line. Cured, on a cache line each.
void sharing(double scale) {
    struct alignas(128) Line {
        std::atomic<std::uint64_t> counts[32];
    };
    static Line line;
    const auto count = [&](int at) {
        auto &number = line.counts[at];
        for (long turn = static_cast<long>(40000000 * scale); turn > 0; turn--)
            number.fetch_add(1, std::memory_order_relaxed);
    };
    std::thread one(count, 0), two(count, cured ? 16 : 1);
    one.join();
    two.join();
    std::printf("%lu\n", line.counts[0].load());
}

// A tree of many nodes, built once and searched often: the program's own time dominates.
void lookups(double scale) {
    std::map<std::uint64_t, std::uint64_t> tree;
    std::uint64_t state = 1, sum = 0;
    for (int at = 0; at < 100000; at++) tree.emplace(next_number(state) % 1000000, at);
    for (long turn = static_cast<long>(3000000 * scale); turn > 0; turn--) {
        const auto found = tree.lower_bound(next_number(state) % 1000000);
        sum += found == tree.end() ? 0 : found->second;
    }
    std::printf("%lu\n", sum);
}

const struct {
    std::string_view name;
    void (*run)(double scale);
} modes[] = {{"requests", requests}, {"share", share},     {"cache", cache},
             {"frees", frees},       {"sharing", sharing}, {"lookups", lookups}};

} // namespace

int main(int count, char **words) {
    const std::string_view name = count > 1 ? words[1] : "";
    const double scale = count > 2 ? std::atof(words[2]) : 1;
    cured = count > 3 && std::string_view(words[3]) == "cured";
    for (const auto &mode : modes)
        if (mode.name == name) {
            mode.run(scale);
            return 0;
        }
    std::fputs("usage: cause-cpp NAME [SCALE [cured]]\n", stderr);
    return 2;
}
