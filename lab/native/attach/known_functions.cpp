#include "attach/known_functions.h"

#include <array>
#include <span>

namespace reap::native {
namespace {

constexpr std::array kKnown = {
    KnownFunction{"malloc", REAP_CALL_MALLOC, Size::First},
    KnownFunction{"calloc", REAP_CALL_CALLOC, Size::FirstTimesSecond},
    KnownFunction{"realloc", REAP_CALL_REALLOC, Size::Second},
    KnownFunction{"reallocarray", REAP_CALL_REALLOCARRAY, Size::SecondTimesThird},
    KnownFunction{"posix_memalign", REAP_CALL_POSIX_MEMALIGN, Size::Third},
    KnownFunction{"aligned_alloc", REAP_CALL_ALIGNED_ALLOC, Size::Second},
    KnownFunction{"memalign", REAP_CALL_MEMALIGN, Size::Second},
    KnownFunction{"valloc", REAP_CALL_VALLOC, Size::First},
    KnownFunction{"pvalloc", REAP_CALL_PVALLOC, Size::First},
    KnownFunction{"free", REAP_CALL_FREE, Size::None},
    // jemalloc's own
    KnownFunction{"mallocx", REAP_CALL_MALLOC, Size::First},
    KnownFunction{"rallocx", REAP_CALL_REALLOC, Size::Second},
    KnownFunction{"dallocx", REAP_CALL_FREE, Size::None},
    KnownFunction{"sdallocx", REAP_CALL_FREE, Size::None},
    // operator new and new[], plain, nothrow, aligned
    KnownFunction{"_Znwm", REAP_CALL_NEW, Size::First},
    KnownFunction{"_Znam", REAP_CALL_NEW, Size::First},
    KnownFunction{"_ZnwmRKSt9nothrow_t", REAP_CALL_NEW, Size::First},
    KnownFunction{"_ZnamRKSt9nothrow_t", REAP_CALL_NEW, Size::First},
    KnownFunction{"_ZnwmSt11align_val_t", REAP_CALL_NEW, Size::First},
    KnownFunction{"_ZnamSt11align_val_t", REAP_CALL_NEW, Size::First},
    KnownFunction{"_ZnwmSt11align_val_tRKSt9nothrow_t", REAP_CALL_NEW, Size::First},
    KnownFunction{"_ZnamSt11align_val_tRKSt9nothrow_t", REAP_CALL_NEW, Size::First},
    KnownFunction{"_ZdlPv", REAP_CALL_DELETE, Size::None},
    KnownFunction{"_ZdaPv", REAP_CALL_DELETE, Size::None},
    KnownFunction{"_ZdlPvm", REAP_CALL_DELETE, Size::None},
    KnownFunction{"_ZdaPvm", REAP_CALL_DELETE, Size::None},
    KnownFunction{"_ZdlPvRKSt9nothrow_t", REAP_CALL_DELETE, Size::None},
    KnownFunction{"_ZdaPvRKSt9nothrow_t", REAP_CALL_DELETE, Size::None},
    KnownFunction{"_ZdlPvSt11align_val_t", REAP_CALL_DELETE, Size::None},
    KnownFunction{"_ZdaPvSt11align_val_t", REAP_CALL_DELETE, Size::None},
    KnownFunction{"_ZdlPvmSt11align_val_t", REAP_CALL_DELETE, Size::None},
    KnownFunction{"_ZdaPvmSt11align_val_t", REAP_CALL_DELETE, Size::None},
};

// mimalloc's own, of which Rust calls the aligned ones alone. Functions of other allocators with these names,
// as zlib's zalloc, call malloc.
constexpr std::array kMimalloc = {
    KnownFunction{"malloc_small", REAP_CALL_MALLOC, Size::First},
    KnownFunction{"mallocn", REAP_CALL_MALLOC, Size::FirstTimesSecond},
    KnownFunction{"malloc_aligned", REAP_CALL_MEMALIGN, Size::First},
    KnownFunction{"zalloc", REAP_CALL_CALLOC, Size::First},
    KnownFunction{"zalloc_small", REAP_CALL_CALLOC, Size::First},
    KnownFunction{"zalloc_aligned", REAP_CALL_CALLOC, Size::First},
    KnownFunction{"calloc_aligned", REAP_CALL_CALLOC, Size::FirstTimesSecond},
    KnownFunction{"realloc_aligned", REAP_CALL_REALLOC, Size::Second},
    KnownFunction{"rezalloc", REAP_CALL_REALLOC, Size::Second},
    KnownFunction{"rezalloc_aligned", REAP_CALL_REALLOC, Size::Second},
    KnownFunction{"recalloc", REAP_CALL_REALLOC, Size::SecondTimesThird},
    KnownFunction{"reallocn", REAP_CALL_REALLOC, Size::SecondTimesThird},
    KnownFunction{"reallocf", REAP_CALL_REALLOC, Size::Second},
    // operator new of mimalloc-new-delete.h
    KnownFunction{"new", REAP_CALL_NEW, Size::First},
    KnownFunction{"new_n", REAP_CALL_NEW, Size::FirstTimesSecond},
    KnownFunction{"new_nothrow", REAP_CALL_NEW, Size::First},
    KnownFunction{"new_aligned", REAP_CALL_NEW, Size::First},
    KnownFunction{"new_aligned_nothrow", REAP_CALL_NEW, Size::First},
    KnownFunction{"new_realloc", REAP_CALL_REALLOC, Size::Second},
    KnownFunction{"new_reallocn", REAP_CALL_REALLOC, Size::SecondTimesThird},
    KnownFunction{"free_size", REAP_CALL_FREE, Size::None},
    KnownFunction{"free_size_aligned", REAP_CALL_FREE, Size::None},
    KnownFunction{"free_aligned", REAP_CALL_FREE, Size::None},
    KnownFunction{"cfree", REAP_CALL_FREE, Size::None},
    // of first-class heaps
    KnownFunction{"heap_malloc", REAP_CALL_MALLOC, Size::Second},
    KnownFunction{"heap_malloc_small", REAP_CALL_MALLOC, Size::Second},
    KnownFunction{"heap_mallocn", REAP_CALL_MALLOC, Size::SecondTimesThird},
    KnownFunction{"heap_malloc_aligned", REAP_CALL_MEMALIGN, Size::Second},
    KnownFunction{"heap_zalloc", REAP_CALL_CALLOC, Size::Second},
    KnownFunction{"heap_zalloc_aligned", REAP_CALL_CALLOC, Size::Second},
    KnownFunction{"heap_calloc", REAP_CALL_CALLOC, Size::SecondTimesThird},
    KnownFunction{"heap_realloc", REAP_CALL_REALLOC, Size::Third},
    KnownFunction{"heap_rezalloc", REAP_CALL_REALLOC, Size::Third},
};

constexpr std::array kTcmalloc = {
    KnownFunction{"new", REAP_CALL_NEW, Size::First},
    KnownFunction{"newarray", REAP_CALL_NEW, Size::First},
    KnownFunction{"new_nothrow", REAP_CALL_NEW, Size::First},
    KnownFunction{"newarray_nothrow", REAP_CALL_NEW, Size::First},
    KnownFunction{"delete", REAP_CALL_DELETE, Size::None},
    KnownFunction{"deletearray", REAP_CALL_DELETE, Size::None},
};

constexpr std::array kSnmalloc = {
    KnownFunction{"rust_alloc", REAP_CALL_MEMALIGN, Size::Second},
    KnownFunction{"rust_alloc_zeroed", REAP_CALL_CALLOC, Size::Second},
    KnownFunction{"rust_dealloc", REAP_CALL_FREE, Size::None},
};

constexpr std::array kRpmalloc = {
    KnownFunction{"aligned_calloc", REAP_CALL_CALLOC, Size::SecondTimesThird},
    KnownFunction{"aligned_realloc", REAP_CALL_REALLOC, Size::Third},
};

// Functions that an allocator has beside those of malloc, under the same prefix.
std::span<const KnownFunction> further_of(const std::string &allocator) {
    if (allocator == "mimalloc") return kMimalloc;
    if (allocator == "tcmalloc") return kTcmalloc;
    if (allocator == "snmalloc") return kSnmalloc;
    if (allocator == "rpmalloc") return kRpmalloc;
    return {};
}

} // namespace

std::map<std::string, KnownFunction> known_functions(const OwnNames &own) {
    std::map<std::string, KnownFunction> known;
    for (const KnownFunction &each : kKnown) known.emplace(own.prefix + each.name, each);
    for (const KnownFunction &each : further_of(own.allocator)) known.emplace(own.prefix + each.name, each);
    return known;
}

} // namespace reap::native
