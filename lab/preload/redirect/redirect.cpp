// Has an allocator that is linked into the program stand aside for a preloaded one, for a trial.
//
// No preload is called in its place: the program has the calls bound already. So the functions by which it
// allocates and frees, which lab/reap/launch/linked/redirect.py has found by their names, begin with a jump
// to those of the preloaded allocator, or to an adapter where theirs have other arguments. Our constructor
// makes the jumps before any code of the program runs: all blocks come from the other allocator then. Where
// the program serves malloc itself, the loader and the libraries before us have some of its blocks already:
// these are never freed, and copied when they grow.
//
// Ends the process (125) where the jumps cannot be made, since a trial that tries nothing would look like one
// without an effect. Does nothing in another program that this one executes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "environment.h"
#include "exported.h"
#include "inherited.h"
#include "patch.h"
#include "platform.h"

namespace reap::preload {
namespace {

constexpr char kVariable[] = "REAP_REDIRECT"; // see lab/reap/launch/linked/redirect.py
constexpr int kFailed = 125;

struct Target {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*memalign)(size_t, size_t);
    size_t (*usable)(void *);
};
Target target;

constexpr size_t kOrdinary = 16; // what every block is aligned to

size_t smaller(size_t one, size_t other) noexcept { return one < other ? one : other; }

void *aligned(size_t alignment, size_t size) noexcept {
    return alignment <= kOrdinary ? target.malloc(size) : target.memalign(alignment, size);
}

void *zeroed(size_t alignment, size_t size) noexcept {
    if (alignment <= kOrdinary) return target.calloc(1, size);
    void *const block = target.memalign(alignment, size);
    return block != nullptr ? memset(block, 0, size) : nullptr;
}

void release(void *pointer) noexcept {
    if (likely(inherited_until(pointer) == 0)) target.free(pointer);
}

// At most: what lies behind a block of before up to the end of its mapping may be copied, too.
size_t usable(void *pointer) noexcept {
    if (pointer == nullptr) return 0;
    const uintptr_t end = inherited_until(pointer);
    return end == 0 ? target.usable(pointer) : end - reinterpret_cast<uintptr_t>(pointer);
}

void *moved(void *pointer, size_t alignment, size_t size) noexcept {
    void *const fresh = aligned(alignment, size);
    if (fresh == nullptr) return nullptr;
    memcpy(fresh, pointer, smaller(usable(pointer), size));
    release(pointer);
    return fresh;
}

void *resized(void *pointer, size_t size) noexcept {
    if (likely(pointer == nullptr || inherited_until(pointer) == 0)) return target.realloc(pointer, size);
    return moved(pointer, kOrdinary, size);
}

void *resized_aligned(void *pointer, size_t alignment, size_t size) noexcept {
    if (pointer == nullptr) return aligned(alignment, size);
    return alignment <= kOrdinary ? resized(pointer, size) : moved(pointer, alignment, size);
}

size_t product(size_t count, size_t size) noexcept {
    size_t total;
    return __builtin_mul_overflow(count, size, &total) ? SIZE_MAX : total; // which no allocator serves
}

// jemalloc's: the low bits of flags are the alignment's logarithm, the next asks for zeros.
size_t alignment_of(int flags) noexcept { return size_t{1} << (flags & 63); }
constexpr int kZero = 0x40;

void *mallocx(size_t size, int flags) noexcept {
    const size_t alignment = alignment_of(flags);
    return (flags & kZero) != 0 ? zeroed(alignment, size) : aligned(alignment, size);
}

void *rallocx(void *pointer, size_t size, int flags) noexcept {
    if ((flags & kZero) == 0) return resized_aligned(pointer, alignment_of(flags), size);
    void *const fresh = zeroed(alignment_of(flags), size);
    if (fresh == nullptr) return nullptr;
    memcpy(fresh, pointer, smaller(usable(pointer), size));
    release(pointer);
    return fresh;
}

size_t xallocx(void *pointer, size_t, size_t, int) noexcept { return usable(pointer); }

size_t same(size_t size) noexcept { return size; }

void *malloc_aligned(size_t size, size_t alignment) noexcept { return aligned(alignment, size); }
void *zalloc(size_t size) noexcept { return target.calloc(1, size); }
void *zalloc_aligned(size_t size, size_t alignment) noexcept { return zeroed(alignment, size); }
void *calloc_aligned(size_t count, size_t size, size_t alignment) noexcept {
    return zeroed(alignment, product(count, size));
}
void *mallocn(size_t count, size_t size) noexcept { return target.malloc(product(count, size)); }
void *realloc_aligned(void *pointer, size_t size, size_t alignment) noexcept {
    return resized_aligned(pointer, alignment, size);
}
void *reallocarray(void *pointer, size_t count, size_t size) noexcept {
    return resized(pointer, product(count, size));
}
void *reallocarray_aligned(void *pointer, size_t count, size_t size, size_t alignment) noexcept {
    return resized_aligned(pointer, alignment, product(count, size));
}
void *reallocf(void *pointer, size_t size) noexcept {
    void *const fresh = resized(pointer, size);
    if (fresh == nullptr) release(pointer);
    return fresh;
}
char *copied_most(const char *text, size_t most) noexcept {
    if (text == nullptr) return nullptr;
    const size_t bytes = strnlen(text, most);
    auto *const fresh = static_cast<char *>(target.malloc(bytes + 1));
    if (fresh == nullptr) return nullptr;
    fresh[bytes] = '\0';
    return static_cast<char *>(memcpy(fresh, text, bytes));
}
char *copied(const char *text) noexcept { return copied_most(text, SIZE_MAX); }

// The alignment comes first.
void *zalloc_first(size_t alignment, size_t size) noexcept { return zeroed(alignment, size); }
void *calloc_first(size_t alignment, size_t count, size_t size) noexcept {
    return zeroed(alignment, product(count, size));
}
// snmalloc's for Rust.
void *rust_realloc(void *pointer, size_t alignment, size_t, size_t size) noexcept {
    return resized_aligned(pointer, alignment, size);
}
// rpmalloc's: the alignment comes second.
void *realloc_second(void *pointer, size_t alignment, size_t size) noexcept {
    return resized_aligned(pointer, alignment, size);
}

void *page_aligned(size_t size) noexcept { return target.memalign(4096, size); }

void *allocate(size_t size) noexcept { return target.malloc(size); }
void *calloc(size_t count, size_t size) noexcept { return target.calloc(count, size); }

// The same for one of several heaps, which are one now.
template <auto kFunction>
struct OfHeap;
template <class Result, class... Arguments, Result (*kFunction)(Arguments...) noexcept>
struct OfHeap<kFunction> {
    static Result of(void * /*heap*/, Arguments... arguments) noexcept { return kFunction(arguments...); }
};

struct Replacement {
    const char *name;
    const void *function;
};

template <class Function>
const void *code(Function *function) noexcept {
    return reinterpret_cast<const void *>(function);
}

// The adapter or function for a canonical name; null for one that is not known.
const void *replacement(const char *name, size_t length) noexcept {
    const bool plain = mapping_count == 0;
    const Replacement known[] = {
        {"malloc", code(target.malloc)},
        {"calloc", code(target.calloc)},
        {"posix_memalign", code(target.posix_memalign)},
        {"memalign", code(&aligned)},
        {"aligned_alloc", code(&aligned)},
        {"free", plain ? code(target.free) : code(&release)},
        {"realloc", plain ? code(target.realloc) : code(&resized)},
        {"usable", plain ? code(target.usable) : code(&usable)},
        {"reallocarray", code(&reallocarray)},
        {"page_aligned", code(&page_aligned)},
        {"mallocx", code(&mallocx)},
        {"rallocx", code(&rallocx)},
        {"xallocx", code(&xallocx)},
        {"same", code(&same)},
        {"zalloc", code(&zalloc)},
        {"malloc_aligned", code(&malloc_aligned)},
        {"zalloc_aligned", code(&zalloc_aligned)},
        {"calloc_aligned", code(&calloc_aligned)},
        {"realloc_aligned", code(&realloc_aligned)},
        {"realloc_second", code(&realloc_second)},
        {"mallocn", code(&mallocn)},
        {"reallocarray_aligned", code(&reallocarray_aligned)},
        {"reallocf", code(&reallocf)},
        {"copied", code(&copied)},
        {"copied_most", code(&copied_most)},
        {"zalloc_first", code(&zalloc_first)},
        {"calloc_first", code(&calloc_first)},
        {"rust_realloc", code(&rust_realloc)},
        {"heap_malloc", code(&OfHeap<&allocate>::of)},
        {"heap_mallocn", code(&OfHeap<&mallocn>::of)},
        {"heap_malloc_aligned", code(&OfHeap<&malloc_aligned>::of)},
        {"heap_memalign", code(&OfHeap<&aligned>::of)},
        {"heap_zalloc", code(&OfHeap<&zalloc>::of)},
        {"heap_zalloc_aligned", code(&OfHeap<&zalloc_aligned>::of)},
        {"heap_calloc", code(&OfHeap<&calloc>::of)},
        {"heap_calloc_aligned", code(&OfHeap<&calloc_aligned>::of)},
        {"heap_calloc_first", code(&OfHeap<&calloc_first>::of)},
        {"heap_realloc", code(&OfHeap<&resized>::of)},
        {"heap_reallocarray", code(&OfHeap<&reallocarray>::of)},
        {"heap_reallocarray_aligned", code(&OfHeap<&reallocarray_aligned>::of)},
        {"heap_reallocf", code(&OfHeap<&reallocf>::of)},
        {"heap_realloc_aligned", code(&OfHeap<&realloc_aligned>::of)},
        {"heap_realloc_second", code(&OfHeap<&realloc_second>::of)},
        {"heap_copied", code(&OfHeap<&copied>::of)},
        {"heap_copied_most", code(&OfHeap<&copied_most>::of)},
        {"heap_free", code(&OfHeap<&release>::of)},
    };
    for (const Replacement &each : known)
        if (strlen(each.name) == length && strncmp(each.name, name, length) == 0) return each.function;
    return nullptr;
}

[[noreturn]] void fail() noexcept { _exit(kFailed); }

bool is_this_program(unsigned long device, unsigned long inode) noexcept {
    struct stat status{};
    return stat("/proc/self/exe", &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

struct Search {
    const char *path;
    const link_map *found;
    uintptr_t base; // of the program
};

// Finds the program, which is the first module, and the allocator.
int look_at(dl_phdr_info *info, size_t, void *argument) noexcept {
    auto *const search = static_cast<Search *>(argument);
    static bool first = true;
    if (first) search->base = info->dlpi_addr;
    first = false;
    dl_find_object object{};
    const auto text = [&]() -> uintptr_t {
        for (int i = 0; i < info->dlpi_phnum; ++i)
            if (info->dlpi_phdr[i].p_type == PT_LOAD) return info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        return 0;
    };
    if (info->dlpi_name != nullptr && strcmp(info->dlpi_name, search->path) == 0 &&
        _dl_find_object(reinterpret_cast<void *>(text()), &object) == 0)
        search->found = object.dlfo_link_map;
    return 0;
}

template <class Function>
void take(Function *&into, const link_map *module, const char *name, const char *instead = nullptr) noexcept {
    const void *found = exported(module, name);
    if (found == nullptr && instead != nullptr) found = exported(module, instead);
    if (found == nullptr) fail();
    into = reinterpret_cast<Function *>(const_cast<void *>(found));
}

struct Jump {
    uintptr_t at;
    const void *target;
};
constexpr size_t kMostJumps = 256;

// NAME=OFFSET,NAME=OFFSET...: makes the jumps, all or none.
void redirect(const char *words, uintptr_t base) noexcept {
    static Jump jumps[kMostJumps];
    size_t count = 0;
    uintptr_t low = UINTPTR_MAX;
    uintptr_t high = 0;
    while (*words != '\0') {
        const char *const equals = strchr(words, '=');
        if (equals == nullptr || count == kMostJumps) fail();
        const void *const function = replacement(words, static_cast<size_t>(equals - words));
        if (function == nullptr) fail();
        char *rest = nullptr;
        const uintptr_t at = base + strtoul(equals + 1, &rest, 16);
        jumps[count++] = {at, function};
        low = at < low ? at : low;
        high = at + kJumpBytes > high ? at + kJumpBytes : high;
        words = *rest == ',' ? rest + 1 : rest;
    }
    if (count == 0 || !make_writable(low, high)) fail();
    for (size_t i = 0; i < count; ++i) jump_to(reinterpret_cast<void *>(jumps[i].at), jumps[i].target);
    make_executable(low, high); // it runs also where it may be written
}

// DEVICE:INODE:OWN:LIBRARY|NAME=OFFSET,...; OWN is 1 where the program serves malloc itself.
[[gnu::constructor]] void begin() noexcept {
    const ErrnoGuard keep;
    const char *at = getenv(kVariable);
    if (at == nullptr) return;
    char *rest = nullptr;
    const unsigned long device = strtoul(at, &rest, 10);
    if (*rest != ':') fail();
    const unsigned long inode = strtoul(rest + 1, &rest, 10);
    if (*rest != ':' || (rest[1] != '0' && rest[1] != '1') || rest[2] != ':') fail();
    if (!is_this_program(device, inode)) return;
    const bool own = rest[1] == '1';
    static char library[4096];
    const char *const path = rest + 3;
    const char *const bar = strrchr(path, '|');
    if (bar == nullptr || static_cast<size_t>(bar - path) >= sizeof library) fail();
    memcpy(library, path, static_cast<size_t>(bar - path));
    Search search{library, nullptr, 0};
    dl_iterate_phdr(look_at, &search);
    if (search.found == nullptr) fail();
    take(target.malloc, search.found, "malloc");
    take(target.free, search.found, "free");
    take(target.calloc, search.found, "calloc");
    take(target.realloc, search.found, "realloc");
    take(target.posix_memalign, search.found, "posix_memalign");
    take(target.memalign, search.found, "memalign", "aligned_alloc");
    take(target.usable, search.found, "malloc_usable_size");
    if (own && !remember_mappings()) fail();
    redirect(bar + 1, search.base);
}

} // namespace
} // namespace reap::preload
