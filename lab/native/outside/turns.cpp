#include "outside/turns.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reap::native {
namespace {

constexpr size_t kMostKept = 65536;

// Both in order.
bool have_one_in_common(const std::vector<uint64_t> &one, const std::vector<uint64_t> &other) {
    return std::any_of(one.begin(), one.end(), [&](uint64_t thread) {
        return std::binary_search(other.begin(), other.end(), thread);
    });
}

} // namespace

void Turns::end_poll() {
    for (const auto &[pid, threads] : seen_) {
        const auto running =
            std::count_if(threads.begin(), threads.end(), [](const Seen &seen) { return seen.runs; });
        ProcessTurns &process = processes_[pid];
        ++process.polls;
        process.alone += running == 1 ? 1 : 0;
        process.several += running > 1 ? 1 : 0;
        if (running != 0) {
            std::vector<uint64_t> ran;
            for (const Seen &seen : threads) {
                if (seen.runs) ran.push_back(seen.thread);
            }
            std::sort(ran.begin(), ran.end());
            std::vector<uint64_t> &last = ran_last_[pid];
            process.changes += last.empty() || have_one_in_common(ran, last) ? 0 : 1;
            last = std::move(ran);
        }
        for (const Seen &seen : threads) {
            const std::pair key{pid, seen.thread};
            if (threads_.size() >= kMostKept && !threads_.contains(key)) continue;
            ThreadTurns &turns = threads_[key];
            turns.ran += seen.runs ? 1 : 0;
            turns.waited += seen.waits && running != 0 ? 1 : 0;
        }
    }
    seen_.clear();
}

} // namespace reap::native
