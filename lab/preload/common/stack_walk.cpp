#include "stack_walk.h"

#include <dlfcn.h>
#include <unwind.h>

namespace reap::preload {
namespace {

struct Walk {
    uint64_t *frames;
    size_t count;
    size_t most;
    uint64_t own_begin;
    uint64_t own_end;
};

_Unwind_Reason_Code visit(_Unwind_Context *context, void *argument) {
    auto *walk = static_cast<Walk *>(argument);
    const uint64_t address = _Unwind_GetIP(context);
    if (address == 0) return _URC_END_OF_STACK;
    if (walk->count == 0 && address >= walk->own_begin && address < walk->own_end) return _URC_NO_REASON;
    walk->frames[walk->count++] = address;
    return walk->count == walk->most ? _URC_END_OF_STACK : _URC_NO_REASON;
}

} // namespace

size_t walk_stack(uint64_t *frames, size_t most) noexcept {
    static uint64_t own_begin;
    static uint64_t own_end;
    if (own_end == 0) {
        dl_find_object here{};
        if (_dl_find_object(reinterpret_cast<void *>(&walk_stack), &here) == 0) {
            own_begin = reinterpret_cast<uint64_t>(here.dlfo_map_start);
            own_end = reinterpret_cast<uint64_t>(here.dlfo_map_end);
        }
    }
    Walk walk{frames, 0, most, own_begin, own_end};
    _Unwind_Backtrace(visit, &walk);
    return walk.count;
}

} // namespace reap::preload
