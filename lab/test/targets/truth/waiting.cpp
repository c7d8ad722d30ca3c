// Threads that wait, where whoever they wait for is inside malloc or free.
#include "modes.h"
#include "threads.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <malloc.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

using Block = std::unique_ptr<char[]>;
using Blocks = std::vector<Block>;

// `count` blocks of `least` to `most` bytes, each written to at its beginning.
Blocks made(int count, std::size_t least, std::size_t most, std::uint64_t &state) {
    Blocks blocks(static_cast<std::size_t>(count));
    for (auto &block : blocks) {
        block.reset(new char[least + next_number(&state) % (most - least)]);
        block[0] = 1;
    }
    return blocks;
}

// A channel of a few places between threads.
template <typename Thing>
class Channel {
  public:
    void put(Thing thing) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_.size() < 48; });
        waiting_.push_back(std::move(thing));
        lock.unlock();
        changed_.notify_all();
    }

    // False once it is closed and empty.
    bool take(Thing &thing) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !waiting_.empty() || closed_; });
        if (waiting_.empty()) return false;
        thing = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        changed_.notify_all();
        return true;
    }

    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Thing> waiting_;
    bool closed_ = false;
};

// One thread makes batches of messages, two read and free them. Cured, they come from a pool and go back.
void producer(double scale) {
    enum { MESSAGES = 64, LARGEST = 4096 };
    Channel<std::vector<char *>> full;
    std::mutex mutex;
    std::condition_variable returned;
    std::vector<std::vector<char *>> pool(64, std::vector<char *>(MESSAGES));
    if (cured)
        for (auto &batch : pool)
            for (auto &message : batch) message = new char[LARGEST];
    std::uint64_t sum = 0;
    const auto consume = [&](int) {
        std::uint64_t read = 0;
        for (std::vector<char *> batch; full.take(batch);) {
            for (char *message : batch) {
                for (int at = 0; at < 16; at++) read += static_cast<std::uint64_t>(message[at]);
                if (!cured) delete[] message;
            }
            const std::lock_guard lock(mutex);
            pool.push_back(std::move(batch));
            returned.notify_one();
        }
        return read;
    };
    std::thread consumers([&] { sum = in_threads(2, consume); });
    std::uint64_t state = 1;
    for (long turn = static_cast<long>(12000 * scale); turn > 0; turn--) {
        std::unique_lock lock(mutex);
        returned.wait(lock, [&] { return !pool.empty(); });
        std::vector<char *> batch = std::move(pool.back());
        pool.pop_back();
        lock.unlock();
        for (auto &message : batch) {
            const std::size_t size = 16 + next_number(&state) % (LARGEST - 16);
            if (!cured) message = new char[size];
            std::memset(message, static_cast<int>(size % 100), 16);
        }
        full.put(std::move(batch));
    }
    full.close();
    consumers.join();
    std::printf("%lu\n", sum);
}

// Queries that end put the memory of their counters back while they hold the lock of their group. Cured,
// counters are members of one array.
void counters(double scale) {
    std::mutex group;
    std::uint64_t finished = 0;
    const auto query = [&](int at) {
        std::uint64_t state = static_cast<std::uint64_t>(at) + 1, sum = 0;
        std::vector<char> places(200);
        for (long turn = static_cast<long>(12000 * scale); turn > 0; turn--) {
            Blocks memory;
            if (!cured) memory = made(200, 1100, 3000, state);
            sum += compute(2000, 1) & 1;
            const std::lock_guard lock(group);
            for (std::size_t each = 0; each < places.size(); each++) {
                sum += static_cast<std::uint64_t>(cured ? 1 : memory[each][0]);
                if (!cured) memory[each].reset();
            }
            finished++;
        }
        return sum;
    };
    const std::uint64_t sum = in_threads(3, query);
    std::printf("%lu %lu\n", sum, finished);
}

// A cache of blocks that makes and frees its entries under its lock. Cured, an entry that goes is used again.
void eviction(double scale) {
    enum { ENTRIES = 2000, KEYS = 6000 };
    struct Entry {
        std::uint64_t key;
        std::vector<Block> parts;
    };
    std::mutex mutex;
    std::list<Entry> order;
    std::unordered_map<std::uint64_t, std::list<Entry>::iterator> entries;
    const auto fill = [](Entry &entry, std::uint64_t key) {
        entry.key = key;
        const std::size_t parts = 12;
        if (cured && !entry.parts.empty()) return;
        entry.parts.resize(parts);
        for (std::size_t at = 0; at < parts; at++) {
            entry.parts[at].reset(new char[cured ? 3000 : 1100 + (key * 97 + at * 31) % 1900]);
            entry.parts[at][0] = 1;
        }
    };
    const auto reader = [&](int at) {
        std::uint64_t state = static_cast<std::uint64_t>(at) * 77 + 1, sum = 0;
        for (long turn = static_cast<long>(30000 * scale); turn > 0; turn--) {
            const std::uint64_t key = next_number(&state) % KEYS;
            const std::lock_guard lock(mutex);
            const auto found = entries.find(key);
            if (found != entries.end()) {
                order.splice(order.begin(), order, found->second);
            } else if (order.size() < ENTRIES) {
                order.emplace_front();
                fill(order.front(), key);
                entries[key] = order.begin();
            } else {
                entries.erase(order.back().key);
                if (cured) {
                    order.splice(order.begin(), order, std::prev(order.end()));
                } else {
                    order.pop_back();
                    order.emplace_front();
                }
                fill(order.front(), key);
                entries[key] = order.begin();
            }
            sum += static_cast<std::uint64_t>(order.front().parts[0][0]);
        }
        return sum;
    };
    std::printf("%lu\n", in_threads(3, reader));
}

// A summary of many small parts is built and torn down by a helper, and the main thread waits for its end
// before it goes on. Cured, the parts are in one array.
void teardown(double scale) {
    enum { PARTS = 60000 };
    struct Part {
        std::uint64_t value;
        char more[1200];
    };
    std::uint64_t sum = 0;
    for (long turn = static_cast<long>(25 * scale); turn > 0; turn--) {
        std::uint64_t answer = 0;
        std::thread helper([&] {
            if (cured) {
                static std::vector<std::uint64_t> all(PARTS);
                for (std::size_t at = 0; at < PARTS; at++) all[at] = at + static_cast<std::size_t>(turn);
                for (const auto value : all) answer += value;
                return;
            }
            std::list<Part> all;
            for (std::size_t at = 0; at < PARTS; at++) {
                all.emplace_back();
                all.back().value = at + static_cast<std::size_t>(turn);
            }
            for (const auto &part : all) answer += part.value;
        });
        helper.join();
        sum += answer;
    }
    std::printf("%lu\n", sum);
}

// A loader makes the samples of the next step, and a trainer waits for each. Cured, the loader fills the same
// samples again.
void loader(double scale) {
    enum { SAMPLES = 400 };
    using Step = std::vector<Block>;
    Channel<std::shared_ptr<Step>> ready;
    std::thread loading([&] {
        std::uint64_t state = 1;
        std::shared_ptr<Step> kept[64];
        for (long turn = 0; turn < static_cast<long>(9000 * scale); turn++) {
            auto &place = kept[turn % 64];
            if (!cured || !place) {
                place = std::make_shared<Step>(made(SAMPLES, cured ? 2999 : 1100, 3000, state));
            }
            ready.put(place);
            if (!cured) place.reset();
        }
        ready.close();
    });
    std::uint64_t sum = 0;
    for (std::shared_ptr<Step> step; ready.take(step); step.reset())
        for (const auto &sample : *step) sum += static_cast<std::uint64_t>(sample[0]);
    loading.join();
    std::printf("%lu\n", sum);
}

} // namespace

int main(int count, char **words) {
    mallopt(M_TRIM_THRESHOLD, 512 << 20); // else heaps are trimmed for each batch
    static const mode modes[] = {{"producer", producer},
                                 {"counters", counters},
                                 {"eviction", eviction},
                                 {"teardown", teardown},
                                 {"loader", loader}};
    return run_mode(modes, std::size(modes), count, words);
}
