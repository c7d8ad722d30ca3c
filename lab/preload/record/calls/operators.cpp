// operator new and delete.
//
// Those of the C++ runtime call malloc and free, which are recorded; recording them here too would count them
// twice. An allocator's own operators (jemalloc, tcmalloc, mimalloc) do not call malloc, so they are recorded
// here. Which of the two applies is determined when the recorder is loaded: each operator then either
// forwards or records. An allocator's operator may still call malloc by name and re-enter the recorder
// (jemalloc's aligned ones do): for new this is tested, because a call that may throw cannot be guarded; for
// delete every call is guarded.
//
// A process without a C++ runtime may open a library that brings one, whose constructors may wait for a
// thread that makes the first call. A dlsym in it would wait for them in turn. So from then on malloc and
// free serve, which is also what the runtimes' operators call: a block of one may be freed by the other.
//
// This file is compiled with unwind tables: an operator new that throws bad_alloc unwinds through these
// frames, which hold nothing meanwhile.
#include <cstdlib>
#include <dlfcn.h>

#include "exported.h"
#include "slow_path.h"

namespace reap::preload {

// Aligned so that the compiler adds no alignment of its own between two in their section.
struct alignas(64) Operator {
    const char *symbol;
    // Of an operator new: whether it does not call malloc by name, and what frees its blocks.
    bool (*bypasses)(const Operator &self) = nullptr;
    const Operator *drop = nullptr;
    void *next = nullptr;     // the next definition when the process began
    void *function = nullptr; // (atomic) the same, once it is known whether it is recorded
    bool recorded = false;    // the allocator's own
};

} // namespace reap::preload

using namespace reap::preload;

// All of them are in a section whose ends the linker names.
#define REAP_OPERATOR [[gnu::section("reap_operators"), gnu::used]] static constinit Operator
extern "C" {
REAP_HIDDEN extern Operator __start_reap_operators[];
REAP_HIDDEN extern Operator __stop_reap_operators[];
}

namespace {

enum Resolved : int {
    No,
    Begun,
    None, // the process began without a C++ runtime
    Some, // and without some of the operators: a library may bring those later
};
Resolved resolved = Resolved::No; // (atomic)

template <class... Rest>
auto as_new(const void *function) noexcept {
    return reinterpret_cast<void *(*)(size_t, Rest...)>(const_cast<void *>(function));
}

template <class... Rest>
auto as_delete(const void *function) noexcept {
    return reinterpret_cast<void (*)(void *, Rest...)>(const_cast<void *>(function));
}

// An argument to try an operator with: an alignment or a nothrow tag.
template <class Argument>
constexpr Argument kSample = nullptr;
template <>
constexpr size_t kSample<size_t> = 64;

template <class... Rest>
bool bypasses_malloc(const Operator &self) noexcept {
    constexpr size_t kFew = 8;
    ThreadState &thread = thread_state;
    const InsideOperator inside(thread);
    void *block = as_new<Rest...>(self.next)(kFew, kSample<Rest>...);
    const bool bypasses = !thread.called_back;
    if (self.drop->next != nullptr) as_delete<Rest...>(self.drop->next)(block, kSample<Rest>...);
    return bypasses;
}

[[gnu::noinline, gnu::cold]] void resolve_operators() noexcept {
    Resolved fresh = Resolved::No;
    if (!__atomic_compare_exchange_n(&resolved, &fresh, Resolved::Begun, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    resolve_real();
    const ErrnoGuard keep;
    Resolved found = Resolved::None;
    for (Operator *each = __start_reap_operators; each < __stop_reap_operators; ++each) {
        // A dlsym that fails allocates.
        if (exported_after_us(each->symbol) != nullptr) each->next = dlsym(RTLD_NEXT, each->symbol);
        if (each->next != nullptr) found = Resolved::Some;
    }
    for (Operator *each = __start_reap_operators; each < __stop_reap_operators; ++each) {
        each->recorded = each->next != nullptr && belongs_to_allocator(each->next) &&
                         (each->bypasses == nullptr || each->bypasses(*each));
        __atomic_store_n(&each->function, each->next, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&resolved, found, __ATOMIC_RELEASE);
}

// As the runtimes' own operators allocate.
void *allocate(size_t size) noexcept { return malloc(size != 0 ? size : 1); }
void *allocate(size_t size, const void * /*nothrow*/) noexcept { return allocate(size); }
void *allocate(size_t size, size_t alignment) noexcept {
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    const size_t whole = ((size != 0 ? size : 1) + alignment - 1) & ~(alignment - 1);
    return whole >= size ? aligned_alloc(alignment, whole) : nullptr;
}
void *allocate(size_t size, size_t alignment, const void * /*nothrow*/) noexcept {
    return allocate(size, alignment);
}

// The next definition, looked for where there is none yet. Null if the process began without it, unless
// another operator had one then: its blocks may not be malloc's.
[[gnu::noinline]] const void *find_definition(const Operator &self) noexcept {
    if (unlikely(__atomic_load_n(&resolved, __ATOMIC_ACQUIRE) == Resolved::No)) resolve_operators();
    if (const void *next = __atomic_load_n(&self.function, __ATOMIC_ACQUIRE)) return next;
    if (likely(__atomic_load_n(&resolved, __ATOMIC_ACQUIRE) == Resolved::None)) return nullptr;
    return exported_after_us(self.symbol);
}

bool is_recorded(const Operator &self) noexcept {
    return __atomic_load_n(&self.function, __ATOMIC_ACQUIRE) != nullptr && self.recorded;
}

template <class... Rest>
[[gnu::noinline]] void *make_recorded(const Operator &self, size_t alignment, size_t size, Rest... rest) {
    auto *function = as_new<Rest...>(self.function);
    thread_state.spend(size);
    return allocate_slow(REAP_CALL_NEW, size, alignment, [=] { return function(size, rest...); });
}

template <class... Rest>
[[gnu::noinline]] void drop_recorded(const Operator &self, void *pointer, Rest... rest) {
    auto *function = as_delete<Rest...>(self.function);
    if (pointer == nullptr || thread_state.inside_operator) return function(pointer, rest...);
    if (!note_free(REAP_CALL_DELETE, pointer)) return;
    const InsideOperator inside(thread_state);
    function(pointer, rest...);
}

template <class... Rest>
[[gnu::noinline]] void *make_undefined(const Operator &self, size_t alignment, size_t size, Rest... rest) {
    const void *next = find_definition(self);
    if (is_recorded(self)) return make_recorded(self, alignment, size, rest...);
    void *block = next == nullptr ? allocate(size, rest...) : nullptr;
    if (likely(block != nullptr)) return block;
    // Where malloc failed, the runtime calls the program's handler, or throws.
    if (next == nullptr) next = exported_after_us(self.symbol);
    return next != nullptr ? as_new<Rest...>(next)(size, rest...) : nullptr;
}

template <class... Rest>
[[gnu::noinline]] void drop_undefined(const Operator &self, void *pointer, Rest... rest) {
    const void *next = find_definition(self);
    if (is_recorded(self)) return drop_recorded(self, pointer, rest...);
    if (next != nullptr) return as_delete<Rest...>(next)(pointer, rest...);
    free(pointer);
}

// `rest` are the arguments after the size: alignment, nothrow tag.
template <class... Rest>
void *make(const Operator &self, size_t alignment, size_t size, Rest... rest) {
    const void *next = __atomic_load_n(&self.function, __ATOMIC_ACQUIRE);
    if (unlikely(next == nullptr)) return make_undefined(self, alignment, size, rest...);
    if (unlikely(self.recorded)) return make_recorded(self, alignment, size, rest...);
    return as_new<Rest...>(next)(size, rest...);
}

template <class... Rest>
void drop(const Operator &self, void *pointer, Rest... rest) {
    const void *next = __atomic_load_n(&self.function, __ATOMIC_ACQUIRE);
    if (unlikely(next == nullptr)) return drop_undefined(self, pointer, rest...);
    if (unlikely(self.recorded)) return drop_recorded(self, pointer, rest...);
    as_delete<Rest...>(next)(pointer, rest...);
}

[[gnu::constructor]] void resolve_at_start() { resolve_operators(); }

} // namespace

// Itanium ABI names, because a function cannot be both operator new and a plain forwarder. An operator new is
// declared with what deletes its blocks.
#define REAP_DELETE(symbol)                                                                                  \
    REAP_OPERATOR next##symbol{#symbol};                                                                     \
    REAP_EXPORT void symbol(void *pointer) { drop(next##symbol, pointer); }
#define REAP_DELETE_1(symbol, Type)                                                                          \
    REAP_OPERATOR next##symbol{#symbol};                                                                     \
    REAP_EXPORT void symbol(void *pointer, Type first) { drop(next##symbol, pointer, first); }
#define REAP_DELETE_2(symbol, Type, Other)                                                                   \
    REAP_OPERATOR next##symbol{#symbol};                                                                     \
    REAP_EXPORT void symbol(void *pointer, Type first, Other second) {                                       \
        drop(next##symbol, pointer, first, second);                                                          \
    }
#define REAP_NEW(symbol, drop)                                                                               \
    REAP_OPERATOR next##symbol{#symbol, bypasses_malloc<>, &next##drop};                                     \
    REAP_EXPORT void *symbol(size_t size) { return make(next##symbol, 0, size); }
#define REAP_NEW_NOTHROW(symbol, drop)                                                                       \
    REAP_OPERATOR next##symbol{#symbol, bypasses_malloc<const void *>, &next##drop};                         \
    REAP_EXPORT void *symbol(size_t size, const void *tag) { return make(next##symbol, 0, size, tag); }
#define REAP_NEW_ALIGNED(symbol, drop)                                                                       \
    REAP_OPERATOR next##symbol{#symbol, bypasses_malloc<size_t>, &next##drop};                               \
    REAP_EXPORT void *symbol(size_t size, size_t alignment) {                                                \
        return make(next##symbol, alignment, size, alignment);                                               \
    }
#define REAP_NEW_ALIGNED_NOTHROW(symbol, drop)                                                               \
    REAP_OPERATOR next##symbol{#symbol, bypasses_malloc<size_t, const void *>, &next##drop};                 \
    REAP_EXPORT void *symbol(size_t size, size_t alignment, const void *tag) {                               \
        return make(next##symbol, alignment, size, alignment, tag);                                          \
    }

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
REAP_NEW(_Znwm, _ZdlPv)                                       // operator new(size_t)
REAP_NEW(_Znam, _ZdaPv)                                       // operator new[](size_t)
REAP_NEW_NOTHROW(_ZnwmRKSt9nothrow_t, _ZdlPvRKSt9nothrow_t)   // operator new(size_t, nothrow)
REAP_NEW_NOTHROW(_ZnamRKSt9nothrow_t, _ZdaPvRKSt9nothrow_t)   // operator new[](size_t, nothrow)
REAP_NEW_ALIGNED(_ZnwmSt11align_val_t, _ZdlPvSt11align_val_t) // operator new(size_t, align_val_t)
REAP_NEW_ALIGNED(_ZnamSt11align_val_t, _ZdaPvSt11align_val_t) // operator new[](size_t, align_val_t)
REAP_NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t, _ZdlPvSt11align_val_tRKSt9nothrow_t)
REAP_NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t, _ZdaPvSt11align_val_tRKSt9nothrow_t)
