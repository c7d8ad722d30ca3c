#include "earlier_library.h"

#include <pthread.h>

void (*before_fork)() = nullptr;

namespace {
[[gnu::constructor]] void begin() {
    const auto prepare = [] {
        if (before_fork != nullptr) before_fork();
    };
    ::pthread_atfork(prepare, nullptr, nullptr);
}
} // namespace
