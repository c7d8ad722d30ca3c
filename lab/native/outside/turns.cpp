#include "outside/turns.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reap::native {
namespace {

constexpr size_t kMostKept = 65536;

} // namespace

void Turns::end_poll() {
    for (const auto &[pid, threads] : seen_) {
        const auto running =
            std::count_if(threads.begin(), threads.end(), [](const Seen &seen) { return seen.runs; });
        ProcessTurns &process = processes_[pid];
        ++process.polls;
        process.alone += running == 1 ? 1 : 0;
        process.several += running > 1 ? 1 : 0;
        if (running == 1) {
            const uint64_t runs = std::find_if(threads.begin(), threads.end(), [](const Seen &seen) {
                                      return seen.runs;
                                  })->thread;
            process.changes += process.last != 0 && process.last != runs ? 1 : 0;
            process.last = runs;
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
