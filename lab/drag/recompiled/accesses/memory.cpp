// The functions of the C library that move whole ranges: those that a program calls by name come here, and
// what the library calls inside itself does not.
#include <cstdio>
#include <cstring>
#include <sys/types.h>

#include "next.h"
#include "objects/shadow.h"
#include "platform.h"

using reap::drag::mark_range;
using reap::drag::mark_read;
using reap::drag::mark_written;
using reap::drag::Reads;

namespace {

using Copy = void *(void *, const void *, size_t);
using Set = void *(void *, int, size_t);
using Length = size_t(const char *);
template <class What>
using Checked = void *(void *, What, size_t, size_t);

constexpr size_t kWord = sizeof(uint64_t);

uint64_t word_at(const unsigned char *at) noexcept {
    uint64_t word;
    __builtin_memcpy(&word, at, kWord);
    return word;
}

// The order of two words by their bytes.
int order_of(uint64_t mine, uint64_t theirs) noexcept {
    if (mine == theirs) return 0;
    return __builtin_bswap64(mine) < __builtin_bswap64(theirs) ? -1 : 1;
}

REAP_NEXT(real_memcpy, "memcpy", Copy);
REAP_NEXT(real_memmove, "memmove", Copy);
REAP_NEXT(real_memset, "memset", Set);
REAP_NEXT(real_strlen, "strlen", Length);
REAP_NEXT(real_read, "read", ssize_t(int, void *, size_t));
REAP_NEXT(real_write, "write", ssize_t(int, const void *, size_t));
REAP_NEXT(real_pread, "pread", ssize_t(int, void *, size_t, off_t));
REAP_NEXT(real_pwrite, "pwrite", ssize_t(int, const void *, size_t, off_t));
REAP_NEXT(real_recv, "recv", ssize_t(int, void *, size_t, int));
REAP_NEXT(real_send, "send", ssize_t(int, const void *, size_t, int));
REAP_NEXT(real_fread, "fread", size_t(void *, size_t, size_t, FILE *));
REAP_NEXT(real_fwrite, "fwrite", size_t(const void *, size_t, size_t, FILE *));
REAP_NEXT(real_memcpy_chk, "__memcpy_chk", Checked<const void *>);
REAP_NEXT(real_memmove_chk, "__memmove_chk", Checked<const void *>);
REAP_NEXT(real_memset_chk, "__memset_chk", Checked<int>);

} // namespace

REAP_EXPORT void *memcpy(void *to, const void *from, size_t size) {
    mark_range<mark_read>(from, size);
    mark_range<mark_written>(to, size);
    return real_memcpy(to, from, size);
}
REAP_EXPORT void *memmove(void *to, const void *from, size_t size) {
    mark_range<mark_read>(from, size);
    mark_range<mark_written>(to, size);
    return real_memmove(to, from, size);
}
REAP_EXPORT void *memset(void *to, int value, size_t size) {
    mark_range<mark_written>(to, size);
    return real_memset(to, value, size);
}
// Done here, since how far it reads is then known: up to the word in which the two differ.
REAP_EXPORT int memcmp(const void *one, const void *other, size_t size) {
    if (size == 0) return 0;
    const auto *left = static_cast<const unsigned char *>(one);
    const auto *right = static_cast<const unsigned char *>(other);
    const unsigned char *const end = left + size;
    const Reads reads;
    for (; left + kWord <= end; left += kWord, right += kWord) {
        reads.mark(left);
        reads.mark(right);
        const uint64_t mine = word_at(left);
        const uint64_t theirs = word_at(right);
        if (mine == theirs) continue;
        reads.mark(left + kWord - 1);
        reads.mark(right + kWord - 1);
        return order_of(mine, theirs);
    }
    const auto rest = static_cast<size_t>(end - left);
    if (rest != 0) {
        reads.mark(left);
        reads.mark(right);
    }
    reads.mark(end - 1);
    reads.mark(right + rest - 1);
    // The last word again, of which the first bytes are equal.
    if (size >= kWord) return order_of(word_at(end - kWord), word_at(right + rest - kWord));
    for (; left != end; ++left, ++right) {
        if (*left != *right) return *left < *right ? -1 : 1;
    }
    return 0;
}
// What clang makes of a memcmp of which only the zero counts.
REAP_EXPORT int bcmp(const void *one, const void *other, size_t size) { return memcmp(one, other, size); }
REAP_EXPORT size_t strlen(const char *text) {
    const size_t length = real_strlen(text);
    mark_range<mark_read>(text, length + 1);
    return length;
}

// What the kernel reads and writes, as far as it is asked by these.
REAP_EXPORT ssize_t read(int file, void *to, size_t size) {
    const ssize_t got = real_read(file, to, size);
    if (got > 0) mark_range<mark_written>(to, static_cast<size_t>(got));
    return got;
}
REAP_EXPORT ssize_t write(int file, const void *from, size_t size) {
    mark_range<mark_read>(from, size);
    return real_write(file, from, size);
}
REAP_EXPORT ssize_t pread(int file, void *to, size_t size, off_t at) {
    const ssize_t got = real_pread(file, to, size, at);
    if (got > 0) mark_range<mark_written>(to, static_cast<size_t>(got));
    return got;
}
REAP_EXPORT ssize_t pwrite(int file, const void *from, size_t size, off_t at) {
    mark_range<mark_read>(from, size);
    return real_pwrite(file, from, size, at);
}
REAP_EXPORT ssize_t recv(int socket, void *to, size_t size, int flags) {
    const ssize_t got = real_recv(socket, to, size, flags);
    if (got > 0) mark_range<mark_written>(to, static_cast<size_t>(got));
    return got;
}
REAP_EXPORT ssize_t send(int socket, const void *from, size_t size, int flags) {
    mark_range<mark_read>(from, size);
    return real_send(socket, from, size, flags);
}
REAP_EXPORT size_t fread(void *to, size_t size, size_t count, FILE *file) {
    const size_t got = real_fread(to, size, count, file);
    mark_range<mark_written>(to, got * size);
    return got;
}
REAP_EXPORT size_t fwrite(const void *from, size_t size, size_t count, FILE *file) {
    const size_t put = real_fwrite(from, size, count, file);
    mark_range<mark_read>(from, put * size);
    return put;
}

// Those of -D_FORTIFY_SOURCE: the C library's own ends a program that would overflow.
REAP_EXPORT void *__memcpy_chk(void *to, const void *from, size_t size, size_t room) {
    if (size <= room) return memcpy(to, from, size);
    return real_memcpy_chk(to, from, size, room);
}
REAP_EXPORT void *__memmove_chk(void *to, const void *from, size_t size, size_t room) {
    if (size <= room) return memmove(to, from, size);
    return real_memmove_chk(to, from, size, room);
}
REAP_EXPORT void *__memset_chk(void *to, int value, size_t size, size_t room) {
    if (size <= room) return memset(to, value, size);
    return real_memset_chk(to, value, size, room);
}

// Clang's own names for the first three.
REAP_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
REAP_EXPORT void *__tsan_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
REAP_EXPORT void *__tsan_memset(void *to, int value, size_t size) { return memset(to, value, size); }
