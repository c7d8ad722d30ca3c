// The functions of the C library that move whole ranges: those that a program calls by name come here, and
// what the library calls inside itself does not.
#include <cstring>

#include "platform.h"
#include "real.h"
#include "shadow.h"

using reap::drag::mark_range;
using reap::drag::mark_read;
using reap::drag::mark_written;
using reap::preload::next_symbol;

namespace {

// The next definition, found once. Not guarded: all threads find the same.
template <class Function>
Function *next(Function *&known, const char *name) noexcept {
    Function *found = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (reap::preload::unlikely(found == nullptr)) {
        found = reinterpret_cast<Function *>(next_symbol(name));
        __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    }
    return found;
}

using Copy = void *(void *, const void *, size_t);
using Set = void *(void *, int, size_t);
using Compare = int(const void *, const void *, size_t);
using Length = size_t(const char *);

Copy *real_memcpy;
Copy *real_memmove;
Set *real_memset;
Compare *real_memcmp;
Length *real_strlen;

} // namespace

REAP_EXPORT void *memcpy(void *to, const void *from, size_t size) {
    mark_range<mark_read>(from, size);
    mark_range<mark_written>(to, size);
    return next(real_memcpy, "memcpy")(to, from, size);
}
REAP_EXPORT void *memmove(void *to, const void *from, size_t size) {
    mark_range<mark_read>(from, size);
    mark_range<mark_written>(to, size);
    return next(real_memmove, "memmove")(to, from, size);
}
REAP_EXPORT void *memset(void *to, int value, size_t size) {
    mark_range<mark_written>(to, size);
    return next(real_memset, "memset")(to, value, size);
}
REAP_EXPORT int memcmp(const void *one, const void *other, size_t size) {
    mark_range<mark_read>(one, size);
    mark_range<mark_read>(other, size);
    return next(real_memcmp, "memcmp")(one, other, size);
}
REAP_EXPORT size_t strlen(const char *text) {
    const size_t length = next(real_strlen, "strlen")(text);
    mark_range<mark_read>(text, length + 1);
    return length;
}

// Clang's own names for the first three.
REAP_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
REAP_EXPORT void *__tsan_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
REAP_EXPORT void *__tsan_memset(void *to, int value, size_t size) { return memset(to, value, size); }
