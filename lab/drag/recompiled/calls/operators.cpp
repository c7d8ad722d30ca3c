// operator new: the same as the C++ runtime's, which would come to malloc with a frame that has no frame
// pointer between, so that the function that called it would be missing from the stack. operator delete is
// free.
#include <cstdlib>

#include "engine.h"
#include "exported.h"
#include "objects/blocks.h"
#include "real.h"

using namespace reap::preload;

#define REAP_HERE __builtin_frame_address(0), __builtin_return_address(0)

namespace {

// Out of memory: the runtime's own operator calls the handler, or throws.
template <class... Rest>
void *as_the_runtime(const char *symbol, size_t size, Rest... rest) {
    auto *function =
        reinterpret_cast<void *(*)(size_t, Rest...)>(const_cast<void *>(exported_after_us(symbol)));
    return function != nullptr ? function(size, rest...) : nullptr;
}

} // namespace

#define REAP_NEW(symbol)                                                                                     \
    REAP_EXPORT void *symbol(size_t size) {                                                                  \
        void *pointer = real.malloc(reap::drag::at_least_a_block(size));                                     \
        if (unlikely(pointer == nullptr)) return as_the_runtime(#symbol, size);                              \
        reap::drag::born(pointer, size, REAP_HERE);                                                          \
        return pointer;                                                                                      \
    }
#define REAP_NEW_NOTHROW(symbol)                                                                             \
    REAP_EXPORT void *symbol(size_t size, const void *tag) {                                                 \
        void *pointer = real.malloc(reap::drag::at_least_a_block(size));                                     \
        if (unlikely(pointer == nullptr)) return as_the_runtime(#symbol, size, tag);                         \
        reap::drag::born(pointer, size, REAP_HERE);                                                          \
        return pointer;                                                                                      \
    }
#define REAP_DELETE(symbol, ...)                                                                             \
    REAP_EXPORT void symbol(void *pointer __VA_OPT__(, ) __VA_ARGS__) { free(pointer); }

REAP_NEW(_Znwm)
REAP_NEW(_Znam)
REAP_NEW_NOTHROW(_ZnwmRKSt9nothrow_t)
REAP_NEW_NOTHROW(_ZnamRKSt9nothrow_t)
REAP_DELETE(_ZdlPv)
REAP_DELETE(_ZdaPv)
REAP_DELETE(_ZdlPvm, size_t)
REAP_DELETE(_ZdaPvm, size_t)
REAP_DELETE(_ZdlPvRKSt9nothrow_t, const void *)
REAP_DELETE(_ZdaPvRKSt9nothrow_t, const void *)
