// The C allocation functions. The fast path subtracts the size from the thread's budget and calls the
// allocator. The C++ runtime's operators new also get here, since they call malloc.
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

constexpr size_t kDefaultAlignment = alignof(max_align_t);

// Whether the budget suffices, so that the allocator serves the call: the common case.
inline bool passes(size_t size) noexcept {
    const auto budget = static_cast<uint64_t>(thread_state.budget);
    if (unlikely(size > budget)) return false;
    thread_state.budget = static_cast<int64_t>(budget - size);
    return true;
}

// Whether the allocator would refuse the size, which is then neither counted nor sampled: our address space
// exceeds the machine's memory. Tested only for sizes that every allocator maps, where the test does not
// change how it serves others (glibc adapts its threshold to freed blocks of up to 32 MiB).
bool is_refused(size_t size) noexcept {
    constexpr size_t kAlwaysMapped = size_t{64} << 20;
    if (likely(size < kAlwaysMapped)) return false;
    const ErrnoGuard keep;
    void *block = real.malloc(size);
    real.free(block);
    return block == nullptr;
}

// A block in a window if this allocation is sampled, else null.
REAP_COLD void *take_sample(size_t size, size_t alignment) noexcept {
    return is_refused(size) ? nullptr : sampler.allocate(thread_state, size, alignment);
}

template <class Invoke>
inline void *serve(size_t size, size_t alignment, Invoke invoke) noexcept {
    if (!passes(size)) {
        if (void *block = take_sample(size, alignment)) return block;
    }
    return invoke();
}

// A pointer that is not the start of a sample is passed to the allocator, which rejects it.
REAP_COLD void free_sample(void *pointer) noexcept {
    if (!sampler.free(pointer)) real.free(pointer);
}

REAP_COLD void *move(void *pointer, size_t old, void *block, size_t size) noexcept {
    memcpy(block, pointer, old < size ? old : size);
    free(pointer);
    return block;
}

// The block is a sample, or may become one.
REAP_COLD void *reallocate(void *pointer, size_t size, bool passed) noexcept {
    const bool owned = sampler.owns(pointer);
    if (owned && !sampler.has(pointer)) return real.realloc(pointer, size);
    if (owned && size == 0) {
        free(pointer);
        return nullptr;
    }
    void *block = passed || is_bootstrap(pointer) ? nullptr : take_sample(size, kDefaultAlignment);
    if (!owned && block == nullptr) return real.realloc(pointer, size);
    if (pointer == nullptr) return block;
    const size_t old = owned ? sampler.size_of(pointer) : real.malloc_usable_size(pointer);
    if (block == nullptr) block = real.malloc(size);
    return block == nullptr ? nullptr : move(pointer, old, block, size);
}

} // namespace

REAP_EXPORT void *malloc(size_t size) {
    return serve(size, kDefaultAlignment, [size] { return real.malloc(size); });
}

REAP_EXPORT void free(void *pointer) {
    if (unlikely(sampler.owns(pointer))) return free_sample(pointer);
    if (likely(!is_bootstrap(pointer))) real.free(pointer);
}

REAP_EXPORT void *calloc(size_t count, size_t size) {
    size_t total;
    if (unlikely(__builtin_mul_overflow(count, size, &total))) total = SIZE_MAX; // refused by the allocator
    return serve(total, kDefaultAlignment,
                 [count, size] { return real.calloc(count, size); }); // windows are zero
}

REAP_EXPORT void *realloc(void *pointer, size_t size) {
    const bool passed = passes(size); // also for a size of zero, which frees
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
        if (void *block = take_sample(size, alignment)) {
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
