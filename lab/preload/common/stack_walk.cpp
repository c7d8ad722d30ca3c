#include "stack_walk.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "platform.h"

namespace reap::preload {
namespace {

bool probing_enabled = true;

struct Walk {
    uint64_t *frames;
    uint64_t *begins;
    size_t count;
    size_t limit;
    CodeRange own;
    StackReach reach;
};

_Unwind_Reason_Code visit(_Unwind_Context *context, void *argument) {
    auto *walk = static_cast<Walk *>(argument);
    const uint64_t address = _Unwind_GetIP(context);
    if (address == 0) return _URC_END_OF_STACK;
    if (walk->count == 0 && walk->own.contains(address)) return _URC_NO_REASON;
    if (walk->begins != nullptr) walk->begins[walk->count] = _Unwind_GetCFA(context);
    walk->frames[walk->count++] = address;
    const bool last = walk->count == walk->limit || !walk->reach.may_follow(_Unwind_GetCFA(context));
    return last ? _URC_END_OF_STACK : _URC_NO_REASON;
}

} // namespace

void disable_stack_probing() noexcept { probing_enabled = false; }
bool stack_probing_enabled() noexcept { return probing_enabled; }

uint64_t below_thread_descriptor(uint64_t address) noexcept {
    return static_cast<uint64_t>(pthread_self()) - address;
}

const uint64_t kMainStackEnd = getauxval(AT_EXECFN);

bool StackReach::may_follow_elsewhere(uint64_t at) noexcept {
    constexpr uint64_t kPage = 4096;
    constexpr uint64_t kFrame = 64 << 10;
    if (at < known_until_) return true;
    // The C library's own stacks are safe: its thread descriptor lies above the first frame.
    if (below_thread_descriptor(at) <= kFrame) return true;
    if (!probing_enabled) return false;
    const ErrnoGuard keep;
    unsigned char pages[kFrame / kPage + 1];
    const uint64_t begin = at & ~(kPage - 1);
    if (syscall(SYS_mincore, begin, sizeof pages * kPage, pages) != 0) return false;
    known_until_ = begin + kPage;
    return true;
}

constinit CodeRange own_code_range{};

CodeRange find_own_code() noexcept {
    dl_find_object here{};
    if (_dl_find_object(reinterpret_cast<void *>(&walk_stack), &here) == 0) {
        own_code_range.begin = reinterpret_cast<uint64_t>(here.dlfo_map_start);
        own_code_range.end = reinterpret_cast<uint64_t>(here.dlfo_map_end);
    }
    return own_code_range;
}

size_t walk_stack(uint64_t *frames, size_t limit, uint64_t *begins) noexcept {
    Walk walk{frames, begins, 0, limit, own_code(), {}};
    _Unwind_Backtrace(visit, &walk);
    return walk.count;
}

} // namespace reap::preload
