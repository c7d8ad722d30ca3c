// operator new and delete.
//
// Those of the C++ runtime call malloc and free, which are recorded; recording them here too would count them
// twice. An allocator's own operators (jemalloc, tcmalloc, mimalloc) do not call malloc, so they are recorded
// here. Each operator determines once which of the two applies, then either forwards or records. An
// allocator's operator may still call malloc by name and re-enter the recorder (jemalloc's aligned ones do):
// for new this is tested once, because a call that may throw cannot be guarded; for delete every call is
// guarded.
//
// This file is compiled with unwind tables: an operator new that throws bad_alloc unwinds through these
// frames, which hold nothing meanwhile.
#include <cstdlib>

#include "slow_path.h"

using namespace reap::preload;

namespace {

struct Operator {
    const char *symbol;
    void *function; // the next definition; null until asked for
    bool recorded;  // the allocator's own
};

// Whether an operator new does not call malloc by name. Leaks a block of a few bytes.
template <class... Rest>
bool bypasses_malloc(void *function, Rest... rest) noexcept {
    constexpr size_t kFew = 8;
    ThreadState &thread = thread_state;
    const InsideOperator inside(thread);
    reinterpret_cast<void *(*)(size_t, Rest...)>(function)(kFew, rest...);
    return !thread.called_back;
}

// Finds the next definition. The fallback, for a program that refers to an operator without a C++ runtime, is
// malloc and free.
template <class Try>
[[gnu::noinline, gnu::cold]] void resolve(Operator &self, void *fallback, Try serves) noexcept {
    resolve_real();
    const ErrnoGuard keep;
    void *found = next_symbol(self.symbol);
    self.recorded = found != nullptr && belongs_to_allocator(found) && serves(found);
    __atomic_store_n(&self.function, found != nullptr ? found : fallback, __ATOMIC_RELEASE);
}

void *plain_new(size_t size) { return malloc(size); }
void *aligned_new(size_t size, size_t alignment) { return aligned_alloc(alignment, size); }
void plain_delete(void *pointer) { free(pointer); }

// `rest` are the arguments after the size: alignment, nothrow tag.
template <class... Rest>
void *make(Operator &self, void *fallback, size_t alignment, size_t size, Rest... rest) {
    if (unlikely(__atomic_load_n(&self.function, __ATOMIC_ACQUIRE) == nullptr)) {
        resolve(self, fallback, [rest...](void *found) { return bypasses_malloc(found, rest...); });
    }
    auto *function = reinterpret_cast<void *(*)(size_t, Rest...)>(self.function);
    if (!self.recorded) return function(size, rest...);
    thread_state.spend(size);
    return allocate_slow(REAP_CALL_NEW, size, alignment, [=] { return function(size, rest...); });
}

template <class... Rest>
void drop(Operator &self, void *pointer, Rest... rest) {
    if (unlikely(__atomic_load_n(&self.function, __ATOMIC_ACQUIRE) == nullptr)) {
        resolve(self, reinterpret_cast<void *>(&plain_delete), [](void *) { return true; });
    }
    auto *function = reinterpret_cast<void (*)(void *, Rest...)>(self.function);
    if (!self.recorded || pointer == nullptr) return function(pointer, rest...);
    if (thread_state.inside_operator) return function(pointer, rest...);
    if (!note_free(REAP_CALL_DELETE, pointer)) return;
    const InsideOperator inside(thread_state);
    function(pointer, rest...);
}

} // namespace

#define REAP_NEW(symbol)                                                                                     \
    REAP_EXPORT void *symbol(size_t size) {                                                                  \
        static Operator self{#symbol, nullptr, false};                                                       \
        return make(self, reinterpret_cast<void *>(&plain_new), 0, size);                                    \
    }
#define REAP_NEW_NOTHROW(symbol)                                                                             \
    REAP_EXPORT void *symbol(size_t size, const void *tag) {                                                 \
        static Operator self{#symbol, nullptr, false};                                                       \
        return make(self, reinterpret_cast<void *>(&plain_new), 0, size, tag);                               \
    }
#define REAP_NEW_ALIGNED(symbol)                                                                             \
    REAP_EXPORT void *symbol(size_t size, size_t alignment) {                                                \
        static Operator self{#symbol, nullptr, false};                                                       \
        return make(self, reinterpret_cast<void *>(&aligned_new), alignment, size, alignment);               \
    }
#define REAP_NEW_ALIGNED_NOTHROW(symbol)                                                                     \
    REAP_EXPORT void *symbol(size_t size, size_t alignment, const void *tag) {                               \
        static Operator self{#symbol, nullptr, false};                                                       \
        return make(self, reinterpret_cast<void *>(&aligned_new), alignment, size, alignment, tag);          \
    }
#define REAP_DELETE(symbol)                                                                                  \
    REAP_EXPORT void symbol(void *pointer) {                                                                 \
        static Operator self{#symbol, nullptr, false};                                                       \
        drop(self, pointer);                                                                                 \
    }
#define REAP_DELETE_1(symbol, Type)                                                                          \
    REAP_EXPORT void symbol(void *pointer, Type first) {                                                     \
        static Operator self{#symbol, nullptr, false};                                                       \
        drop(self, pointer, first);                                                                          \
    }
#define REAP_DELETE_2(symbol, Type, Other)                                                                   \
    REAP_EXPORT void symbol(void *pointer, Type first, Other second) {                                       \
        static Operator self{#symbol, nullptr, false};                                                       \
        drop(self, pointer, first, second);                                                                  \
    }

// Itanium ABI names, because a function cannot be both operator new and a plain forwarder.
REAP_NEW(_Znwm)                        // operator new(size_t)
REAP_NEW(_Znam)                        // operator new[](size_t)
REAP_NEW_NOTHROW(_ZnwmRKSt9nothrow_t)  // operator new(size_t, nothrow)
REAP_NEW_NOTHROW(_ZnamRKSt9nothrow_t)  // operator new[](size_t, nothrow)
REAP_NEW_ALIGNED(_ZnwmSt11align_val_t) // operator new(size_t, align_val_t)
REAP_NEW_ALIGNED(_ZnamSt11align_val_t) // operator new[](size_t, align_val_t)
REAP_NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t)
REAP_NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t)
REAP_DELETE(_ZdlPv)            // operator delete(void*)
REAP_DELETE(_ZdaPv)            // operator delete[](void*)
REAP_DELETE_1(_ZdlPvm, size_t) // operator delete(void*, size_t)
REAP_DELETE_1(_ZdaPvm, size_t) // operator delete[](void*, size_t)
REAP_DELETE_1(_ZdlPvRKSt9nothrow_t, const void *)
REAP_DELETE_1(_ZdaPvRKSt9nothrow_t, const void *)
REAP_DELETE_1(_ZdlPvSt11align_val_t, size_t) // operator delete(void*, align_val_t)
REAP_DELETE_1(_ZdaPvSt11align_val_t, size_t) // operator delete[](void*, align_val_t)
REAP_DELETE_2(_ZdlPvmSt11align_val_t, size_t, size_t)
REAP_DELETE_2(_ZdaPvmSt11align_val_t, size_t, size_t)
REAP_DELETE_2(_ZdlPvSt11align_val_tRKSt9nothrow_t, size_t, const void *)
REAP_DELETE_2(_ZdaPvSt11align_val_tRKSt9nothrow_t, size_t, const void *)
