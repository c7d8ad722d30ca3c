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

struct Walk {
    uint64_t *frames;
    size_t count;
    size_t limit;
    uint64_t own_begin;
    uint64_t own_end;
    uint64_t known_until; // stack addresses below this are known to be mapped
};

// The program's name lies above the first frame of the main stack. The kernel maps nothing else near.
const uint64_t kMainEnd = getauxval(AT_EXECFN);
constexpr uint64_t kMainStack = 64 << 20;
bool probing_enabled = true;

// Whether the frame at `at`, of at most 64 KB, may be followed. Its caller's is read from memory above it; on
// a stack that the program allocated itself, the first frame may have no caller, and the stack may end there.
bool may_follow(Walk &walk, uint64_t at) noexcept {
    constexpr uint64_t kPage = 4096;
    constexpr uint64_t kFrame = 64 << 10;
    if (at < walk.known_until || kMainEnd - at <= kMainStack) return true;
    // The C library's own stacks are safe: its thread descriptor lies above the first frame.
    if (static_cast<uint64_t>(pthread_self()) - at <= kFrame) return true;
    if (!probing_enabled) return false;
    const ErrnoGuard keep;
    unsigned char pages[kFrame / kPage + 1];
    const uint64_t begin = at & ~(kPage - 1);
    if (syscall(SYS_mincore, begin, sizeof pages * kPage, pages) != 0) return false;
    walk.known_until = begin + kPage;
    return true;
}

_Unwind_Reason_Code visit(_Unwind_Context *context, void *argument) {
    auto *walk = static_cast<Walk *>(argument);
    const uint64_t address = _Unwind_GetIP(context);
    if (address == 0) return _URC_END_OF_STACK;
    if (walk->count == 0 && address >= walk->own_begin && address < walk->own_end) return _URC_NO_REASON;
    walk->frames[walk->count++] = address;
    const bool last = walk->count == walk->limit || !may_follow(*walk, _Unwind_GetCFA(context));
    return last ? _URC_END_OF_STACK : _URC_NO_REASON;
}

} // namespace

void disable_stack_probing() noexcept { probing_enabled = false; }

size_t walk_stack(uint64_t *frames, size_t limit) noexcept {
    static uint64_t own_begin;
    static uint64_t own_end;
    if (own_end == 0) {
        dl_find_object here{};
        if (_dl_find_object(reinterpret_cast<void *>(&walk_stack), &here) == 0) {
            own_begin = reinterpret_cast<uint64_t>(here.dlfo_map_start);
            own_end = reinterpret_cast<uint64_t>(here.dlfo_map_end);
        }
    }
    Walk walk{frames, 0, limit, own_begin, own_end, 0};
    _Unwind_Backtrace(visit, &walk);
    return walk.count;
}

} // namespace reap::preload
