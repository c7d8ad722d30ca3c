// The allocation functions of C. A fast path takes the size off the thread's budget and hands over to the
// allocator; operators new of the C++ runtime come here, too, since they call malloc.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "platform.h"
#include "real.h"
#include "sampler.h"

using namespace reap::preload;
using reap::drag::sampler;
using reap::drag::thread_state;

namespace {

constexpr size_t kUsual = alignof(max_align_t);

// Whether the allocator serves it, as nearly always.
inline bool passes(size_t size) noexcept {
    const auto budget = static_cast<uint64_t>(thread_state.budget);
    if (unlikely(size > budget)) return false;
    thread_state.budget = static_cast<int64_t>(budget - size);
    return true;
}

// What the allocator would refuse is neither counted nor drawn: we have address space for what the machine
// has no memory for. Only of sizes for which every allocator maps memory, and for which asking it changes
// nothing of what it does with others (glibc learns from blocks of up to 32 MiB that are freed).
bool is_refused(size_t size) noexcept {
    constexpr size_t kMappedAnyway = size_t{64} << 20;
    if (likely(size < kMappedAnyway)) return false;
    const ErrnoGuard keep;
    void *block = real.malloc(size);
    real.free(block);
    return block == nullptr;
}

// A block of a window if this one is drawn as a sample.
REAP_COLD void *drawn(size_t size, size_t alignment) noexcept {
    return is_refused(size) ? nullptr : sampler.allocate(thread_state, size, alignment);
}

template <class Invoke>
inline void *serve(size_t size, size_t alignment, Invoke invoke) noexcept {
    if (!passes(size)) {
        if (void *block = drawn(size, alignment)) return block;
    }
    return invoke();
}

// What is not a drawn object's beginning is the allocator's to refuse, as it does without us.
REAP_COLD void free_drawn(void *pointer) noexcept {
    if (!sampler.free(pointer)) real.free(pointer);
}

REAP_COLD void *move(void *pointer, size_t old, void *block, size_t size) noexcept {
    memcpy(block, pointer, old < size ? old : size);
    free(pointer);
    return block;
}

// The block is a sample's, or may become one.
REAP_COLD void *reallocate(void *pointer, size_t size, bool passed) noexcept {
    const bool owned = sampler.owns(pointer);
    if (owned && !sampler.has(pointer)) return real.realloc(pointer, size);
    if (owned && size == 0) {
        free(pointer);
        return nullptr;
    }
    void *block = passed || is_bootstrap(pointer) ? nullptr : drawn(size, kUsual);
    if (!owned && block == nullptr) return real.realloc(pointer, size);
    if (pointer == nullptr) return block;
    const size_t old = owned ? sampler.size_of(pointer) : real.malloc_usable_size(pointer);
    if (block == nullptr) block = real.malloc(size);
    return block == nullptr ? nullptr : move(pointer, old, block, size);
}

} // namespace

REAP_EXPORT void *malloc(size_t size) {
    return serve(size, kUsual, [size] { return real.malloc(size); });
}

REAP_EXPORT void free(void *pointer) {
    if (unlikely(sampler.owns(pointer))) return free_drawn(pointer);
    if (likely(!is_bootstrap(pointer))) real.free(pointer);
}

REAP_EXPORT void *calloc(size_t count, size_t size) {
    size_t total;
    if (unlikely(__builtin_mul_overflow(count, size, &total))) total = SIZE_MAX; // refused by the allocator
    return serve(total, kUsual, [count, size] { return real.calloc(count, size); }); // windows are zero
}

REAP_EXPORT void *realloc(void *pointer, size_t size) {
    const bool passed = passes(size); // also a size of zero, which frees
    if (likely(passed && !sampler.owns(pointer))) return real.realloc(pointer, size);
    return reallocate(pointer, size, passed);
}

REAP_EXPORT void *reallocarray(void *pointer, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return nullptr;
    }
    return realloc(pointer, total);
}

REAP_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return serve(size, alignment, [alignment, size] { return real.aligned_alloc(alignment, size); });
}

REAP_EXPORT void *memalign(size_t alignment, size_t size) {
    return serve(size, alignment, [alignment, size] { return real.memalign(alignment, size); });
}

REAP_EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    const bool sound = alignment >= sizeof(void *) && (alignment & (alignment - 1)) == 0;
    if (sound && !passes(size)) {
        if (void *block = drawn(size, alignment)) {
            *out = block;
            return 0;
        }
    }
    return real.posix_memalign(out, alignment, size);
}

REAP_EXPORT void *valloc(size_t size) {
    return serve(size, 4096, [size] { return real.valloc(size); });
}

REAP_EXPORT void *pvalloc(size_t size) {
    return serve(size, 4096, [size] { return real.pvalloc(size); });
}

REAP_EXPORT size_t malloc_usable_size(void *pointer) {
    if (pointer != nullptr && sampler.owns(pointer)) return sampler.size_of(pointer);
    return is_bootstrap(pointer) ? 0 : real.malloc_usable_size(pointer);
}

[[gnu::constructor]] static void begin() {
    sampler.start();
    reap::drag::Sampler::follow_threads();
}

[[gnu::destructor]] static void end() { sampler.finish(); }
