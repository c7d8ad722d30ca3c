// Programs that no rule was made with.
#include "modes.h"
#include "threads.h"

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace {

// Functions of a module, each of which has a few lists of instructions, optimised and dropped. Cured, lists
// are emptied and used again.
void modules(double scale) {
    enum { FUNCTIONS = 400 };
    struct Function {
        std::vector<std::uint32_t> code, locals;
        std::string name;
    };
    std::vector<Function> kept(FUNCTIONS);
    std::uint64_t state = 1, sum = 0;
    for (long turn = static_cast<long>(4000 * scale); turn > 0; turn--) {
        std::vector<Function> made(cured ? 0 : FUNCTIONS);
        auto &functions = cured ? kept : made;
        for (auto &function : functions) {
            function.code.clear();
            function.locals.clear();
            const std::uint64_t length = 8 + next_number(&state) % 60;
            for (std::uint64_t at = 0; at < length; at++)
                function.code.push_back(static_cast<std::uint32_t>(at));
            function.locals.assign(length / 4, 1);
            function.name.assign("a function of the module");
        }
        for (const auto &function : functions) sum += function.code.size() + function.locals.size();
    }
    std::printf("%lu\n", sum);
}

// Pages of a guest, each aligned to a page: a request takes forty and gives them back. Cured, they come from
// a stack of pages.
void guest(double scale) {
    enum { PAGES = 40, PAGE = 4096 };
    char *page[PAGES];
    std::vector<char *> stack;
    std::uint64_t sum = 0;
    for (long turn = static_cast<long>(6000 * scale); turn > 0; turn--) {
        for (int at = 0; at < PAGES; at++) {
            if (stack.empty()) {
                page[at] = static_cast<char *>(std::aligned_alloc(PAGE, PAGE));
            } else {
                page[at] = stack.back();
                stack.pop_back();
            }
            page[at][turn % PAGE] = static_cast<char>(at);
            page[at][0] = static_cast<char>(at);
        }
        for (char *each : page) {
            sum += static_cast<std::uint64_t>(each[0]);
            if (cured)
                stack.push_back(each);
            else
                std::free(each);
        }
    }
    for (char *each : stack) std::free(each);
    std::printf("%lu\n", sum);
}

// Two workers wait at the end of each step until the third has put the cases of the last step back. Cured,
// cases are numbers in an array.
void barrier(double scale) {
    enum { CASES = 12000, WORKERS = 3 };
    std::mutex mutex;
    std::condition_variable changed;
    long step = 0;
    int waiting = 0;
    const auto meet = [&] {
        std::unique_lock lock(mutex);
        const long mine = step;
        if (++waiting == WORKERS) {
            waiting = 0;
            step++;
            changed.notify_all();
        } else {
            changed.wait(lock, [&] { return step != mine; });
        }
    };
    const auto worker = [&](int at) {
        std::uint64_t sum = 0;
        std::vector<std::uint64_t> numbers(CASES);
        for (long turn = static_cast<long>(75 * scale); turn > 0; turn--) {
            sum += compute(20000, static_cast<std::uint64_t>(at)) & 1;
            if (at == 0 && cured) {
                for (std::size_t each = 0; each < CASES; each++) numbers[each] = each;
                for (const auto number : numbers) sum += number;
            } else if (at == 0) {
                std::unordered_map<std::uint64_t, std::unique_ptr<char[]>> cases;
                for (std::uint64_t each = 0; each < CASES; each++) {
                    auto &made = cases[each];
                    made.reset(new char[1200 + each % 7 * 100]);
                    made[0] = 1;
                }
                for (const auto &[number, made] : cases) sum += number * static_cast<std::uint64_t>(made[0]);
            }
            meet();
        }
        return sum;
    };
    std::printf("%lu\n", in_threads(WORKERS, worker));
}

// Makes a file in memory for each job and closes it: the kernel makes an inode and a name for each. Cured,
// for each thousandth.
void files(double scale) {
    std::uint64_t jobs = 0;
    for (long turn = 0; turn < static_cast<long>(80000 * scale); turn++) {
        const std::string name = "the scratch file of a job, number " + std::to_string(turn);
        if (!cured || turn % 1000 == 0) {
            const int file = memfd_create(name.c_str(), 0);
            if (file < 0) std::abort();
            close(file);
        }
        jobs++;
    }
    std::printf("%lu\n", jobs);
}

// A table of chains, whose links were made between the records that they stand for, which are not read.
// Cured, links are in an array.
void chains(double scale) {
    enum { LINKS = 80000, BUCKETS = 16384 };
    struct Link {
        Link *next;
        std::uint64_t key;
    };
    std::vector<Link *> bucket(BUCKETS);
    std::vector<std::unique_ptr<Link>> links;
    std::vector<std::unique_ptr<char[]>> records;
    std::vector<Link> array(cured ? LINKS : 0);
    for (std::uint64_t at = 0; at < LINKS; at++) {
        if (!cured) links.push_back(std::make_unique<Link>());
        Link *const link = cured ? &array[at] : links.back().get();
        *link = {bucket[at % BUCKETS], at};
        bucket[at % BUCKETS] = link;
        records.emplace_back(new char[150 + at % 5 * 80]);
    }
    std::uint64_t state = 1, sum = 0;
    for (long turn = static_cast<long>(8000000 * scale); turn > 0; turn--) {
        const std::uint64_t key = next_number(&state) % LINKS;
        const Link *link = bucket[key % BUCKETS];
        while (link->key != key) link = link->next;
        sum += link->key;
    }
    std::printf("%lu\n", sum);
}

// Three threads take buffers of a shared pool and clear part of each under its one lock. Cured, each has a
// pool.
void buffers(double scale) {
    enum { BUFFERS = 64, SIZE = 16384 };
    struct Pool {
        std::mutex mutex;
        std::vector<std::unique_ptr<char[]>> idle;
    };
    static Pool shared[3];
    for (auto &pool : shared)
        for (int at = 0; at < BUFFERS; at++) pool.idle.emplace_back(new char[SIZE]());
    const auto work = [&](int at) {
        Pool &pool = shared[cured ? at : 0];
        std::uint64_t sum = 0;
        for (long turn = static_cast<long>(450000 * scale); turn > 0; turn--) {
            std::unique_lock lock(pool.mutex);
            std::unique_ptr<char[]> buffer = std::move(pool.idle.back());
            pool.idle.pop_back();
            std::memset(buffer.get(), 0, SIZE);
            lock.unlock();
            buffer[0] = static_cast<char>(turn & 63);
            sum += static_cast<std::uint64_t>(buffer[0]) + static_cast<std::uint64_t>(buffer[SIZE - 1]);
            lock.lock();
            pool.idle.push_back(std::move(buffer));
        }
        return sum;
    };
    std::printf("%lu\n", in_threads(3, work));
}

} // namespace

int main(int count, char **words) {
    static const mode modes[] = {{"modules", modules}, {"guest", guest},   {"barrier", barrier},
                                 {"files", files},     {"chains", chains}, {"buffers", buffers}};
    return run_mode(modes, std::size(modes), count, words);
}
