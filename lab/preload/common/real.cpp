#include "real.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>

#include "platform.h"
#include "provider.h"

namespace reap::preload {

alignas(4096) constinit unsigned char bootstrap_bytes[kBootstrapBytes] = {};

namespace {

// Serves allocations that dlsym itself makes while it looks up malloc. They are never freed.
class BootstrapHeap {
  public:
    void *allocate(size_t size, size_t alignment) noexcept {
        if (size > kBootstrapBytes || alignment > 4096) return nullptr;
        size_t used = __atomic_load_n(&used_, __ATOMIC_RELAXED);
        for (;;) {
            const size_t start = (used + kHeader + alignment - 1) & ~(alignment - 1);
            if (start > kBootstrapBytes || size > kBootstrapBytes - start) return nullptr;
            if (__atomic_compare_exchange_n(&used_, &used, start + size, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED)) {
                memcpy(bootstrap_bytes + start - kHeader, &size, sizeof size);
                return bootstrap_bytes + start;
            }
        }
    }

    [[nodiscard]] Range range() const noexcept {
        return {bootstrap_bytes, bootstrap_bytes + __atomic_load_n(&used_, __ATOMIC_RELAXED)};
    }

    static size_t size_of(const void *pointer) noexcept {
        size_t size;
        memcpy(&size, static_cast<const unsigned char *>(pointer) - kHeader, sizeof size);
        return size;
    }

  private:
    static constexpr size_t kHeader = 16;
    size_t used_ = 0;
};

BootstrapHeap bootstrap;
Dl_info provider;

void *boot_malloc(size_t size) {
    resolve_real();
    if (real.malloc != boot_malloc) return real.malloc(size);
    return bootstrap.allocate(size, 16);
}
void boot_free(void *pointer) {
    resolve_real();
    if (real.free != boot_free) real.free(pointer);
}
void *boot_calloc(size_t count, size_t size) {
    resolve_real();
    if (real.calloc != boot_calloc) return real.calloc(count, size);
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) return nullptr;
    return bootstrap.allocate(total, 16); // static storage is zero, and nothing is reused
}
void *boot_realloc(void *pointer, size_t size) {
    resolve_real();
    if (real.realloc != boot_realloc) return real.realloc(pointer, size);
    void *fresh = bootstrap.allocate(size, 16);
    if (fresh != nullptr && is_bootstrap(pointer)) {
        const size_t old = BootstrapHeap::size_of(pointer);
        memcpy(fresh, pointer, old < size ? old : size);
    }
    return fresh;
}
void *boot_reallocarray(void *pointer, size_t count, size_t size) {
    resolve_real();
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return nullptr;
    }
    return real.realloc(pointer, total);
}
int boot_posix_memalign(void **out, size_t alignment, size_t size) {
    resolve_real();
    if (real.posix_memalign != boot_posix_memalign) return real.posix_memalign(out, alignment, size);
    *out = bootstrap.allocate(size, alignment);
    return *out != nullptr ? 0 : ENOMEM;
}
void *boot_aligned_alloc(size_t alignment, size_t size) {
    resolve_real();
    if (real.aligned_alloc != boot_aligned_alloc) return real.aligned_alloc(alignment, size);
    return bootstrap.allocate(size, alignment);
}
void *boot_memalign(size_t alignment, size_t size) {
    resolve_real();
    if (real.memalign != boot_memalign) return real.memalign(alignment, size);
    return bootstrap.allocate(size, alignment);
}
void *boot_valloc(size_t size) {
    resolve_real();
    if (real.valloc != boot_valloc) return real.valloc(size);
    return bootstrap.allocate(size, 4096);
}
void *boot_pvalloc(size_t size) {
    resolve_real();
    if (real.pvalloc != boot_pvalloc) return real.pvalloc(size);
    return bootstrap.allocate((size + 4095) & ~size_t{4095}, 4096);
}
size_t boot_usable_size(void *pointer) {
    resolve_real();
    if (real.malloc_usable_size != boot_usable_size) return real.malloc_usable_size(pointer);
    return 0;
}

template <class Function>
void find(Function *&slot, const char *name) noexcept {
    if (void *found = dlsym(RTLD_NEXT, name)) {
        __atomic_store_n(&slot, reinterpret_cast<Function *>(found), __ATOMIC_RELAXED);
    }
}

} // namespace

RealAllocator real = {
    boot_malloc,        boot_free,     boot_calloc, boot_realloc, boot_reallocarray, boot_posix_memalign,
    boot_aligned_alloc, boot_memalign, boot_valloc, boot_pvalloc, boot_usable_size,
};

void resolve_real() noexcept {
    // 0 not started, 1 in progress, 2 done. Meanwhile allocations are served from the bootstrap heap: waiting
    // could deadlock with this very thread.
    static int state = 0;
    int fresh = 0;
    if (!__atomic_compare_exchange_n(&state, &fresh, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) return;
    const ErrnoGuard keep;
    find(real.free, "free"); // first: every block that malloc returns must be freeable
    find(real.realloc, "realloc");
    find(real.calloc, "calloc");
    find(real.reallocarray, "reallocarray");
    find(real.posix_memalign, "posix_memalign");
    find(real.aligned_alloc, "aligned_alloc");
    find(real.memalign, "memalign");
    find(real.valloc, "valloc");
    find(real.pvalloc, "pvalloc");
    find(real.malloc_usable_size, "malloc_usable_size");
    find(real.malloc, "malloc");
    dladdr(reinterpret_cast<const void *>(real.malloc), &provider);
    __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
}

// Before a thread makes the first call: see next.h.
[[gnu::constructor(101)]] static void resolve_at_start() { resolve_real(); }

Range bootstrap_range() noexcept { return bootstrap.range(); }

const char *real_provider() noexcept { return provider.dli_fname != nullptr ? provider.dli_fname : ""; }

bool calls_reach_us() noexcept {
    Dl_info ours{};
    if (dladdr(reinterpret_cast<const void *>(&resolve_real), &ours) == 0) return false;
    // A position-dependent executable that takes malloc's address has a stub that hides its provider, but
    // hardly one for each function.
    static const char *const kFamily[] = {"malloc", "free", "calloc", "realloc", "malloc_usable_size"};
    for (const char *function : kFamily) {
        const Provider first = first_provider_of(function);
        if (first.base != nullptr) return first.base == ours.dli_fbase;
    }
    return true;
}

bool belongs_to_allocator(const void *function) noexcept {
    dl_find_object found{};
    return _dl_find_object(const_cast<void *>(function), &found) == 0 &&
           found.dlfo_map_start == provider.dli_fbase;
}

} // namespace reap::preload
