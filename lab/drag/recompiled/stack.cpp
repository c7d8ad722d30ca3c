#include "stack.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"

namespace reap::drag {
namespace {

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

constinit thread_local Bounds own_stack __attribute__((tls_model("initial-exec"))) = {0, 0};

void find_own_stack() noexcept { own_stack = bounds_of_stack(); }

} // namespace reap::drag
