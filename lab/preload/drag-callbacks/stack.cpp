#include "stack.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"

namespace reap::drag {
namespace {

// Where the thread's stack ends; 0 where that cannot be said.
uintptr_t end_of_stack() noexcept {
    // The name of the program lies behind the first thread's stack. (To ask pthread_getattr_np for that one
    // would read /proc, with malloc.)
    if (syscall(SYS_gettid) == syscall(SYS_getpid)) return getauxval(AT_EXECFN);
    const Busy busy; // it allocates, too
    pthread_attr_t attributes;
    void *begin = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    return reinterpret_cast<uintptr_t>(begin) + size;
}

} // namespace

void walk(const void *frame, const void *caller, Stack &stack) noexcept {
    thread_local uintptr_t end __attribute__((tls_model("initial-exec"))) = 0;
    if (end == 0) end = end_of_stack();
    stack.depth = 1;
    stack.frames[0] = reinterpret_cast<uint64_t>(caller);
    auto at = *static_cast<const uintptr_t *>(frame);
    auto below = reinterpret_cast<uintptr_t>(frame);
    while (stack.depth < Stack::kMost && at > below && at % 8 == 0 && at + 16 <= end) {
        const auto *words = reinterpret_cast<const uintptr_t *>(at);
        if (words[1] < 4096) break;
        stack.frames[stack.depth++] = words[1];
        below = at;
        at = words[0];
    }
}

} // namespace reap::drag
