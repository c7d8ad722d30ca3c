#include "stack.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"

namespace reap::drag {
namespace {

struct Bounds {
    uintptr_t begin;
    uintptr_t end;
};

// Of the thread's stack; nothing where that cannot be said.
Bounds bounds_of_stack() noexcept {
    // The name of the program lies behind the first thread's stack. (To ask pthread_getattr_np for that one
    // would read /proc, with malloc.)
    // It grows, and nothing else is mapped so near to its end.
    constexpr uintptr_t kLeastGap = uintptr_t{128} << 20;
    if (syscall(SYS_gettid) == syscall(SYS_getpid)) {
        const uintptr_t end = getauxval(AT_EXECFN);
        return {end - kLeastGap, end};
    }
    const Busy busy; // it allocates, too
    pthread_attr_t attributes;
    void *begin = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {1, 1};
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    const auto low = reinterpret_cast<uintptr_t>(begin);
    return {low, low + size};
}

} // namespace

void walk(const void *frame, const void *caller, Stack &stack) noexcept {
    constinit thread_local Bounds mine __attribute__((tls_model("initial-exec"))) = {0, 0};
    if (mine.end == 0) mine = bounds_of_stack();
    stack.depth = 1;
    stack.frames[0] = reinterpret_cast<uint64_t>(caller);
    auto below = reinterpret_cast<uintptr_t>(frame);
    // On another stack, as a coroutine has it, what a frame says cannot be believed: between it and the end
    // of the thread's own, not all is mapped.
    if (below < mine.begin || below >= mine.end) return;
    auto at = *static_cast<const uintptr_t *>(frame);
    while (stack.depth < Stack::kMost && at > below && at % 8 == 0 && at <= mine.end - 16) {
        const auto *words = reinterpret_cast<const uintptr_t *>(at);
        if (words[1] < 4096) break;
        stack.frames[stack.depth++] = words[1];
        below = at;
        at = words[0];
    }
}

} // namespace reap::drag
