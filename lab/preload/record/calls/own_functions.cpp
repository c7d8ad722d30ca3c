// Our functions for allocators' own ones: see own_slots.h. They record as the C functions do.
//
// Such a function may call malloc or free by name, which must not be recorded a second time. This cannot be
// guarded where it may throw (mi_new): those functions call neither.
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "own_slots.h"
#include "reap_own_functions.h"
#include "slow_path.h"

namespace reap::preload {
namespace {

constexpr size_t kTooLarge = SIZE_MAX; // of a product that overflows: it is refused
constexpr size_t kPage = 4096;

using Word = uint64_t; // an argument or a result, whatever its type: each has a register

// The trace has the exponent.
size_t known_alignment(size_t alignment) noexcept {
    return (alignment & (alignment - 1)) == 0 ? alignment : 0;
}

// MALLOCX_ALIGN: the lowest six bits of the flags are the exponent.
size_t alignment_of_flags(Word flags) noexcept {
    const Word exponent = flags & 63;
    return exponent != 0 ? size_t{1} << exponent : 0;
}

template <class Invoke>
void *allocate_throwing(reap_call call, size_t size, size_t alignment, Invoke invoke) {
    if (thread_state.inside_operator) return invoke();
    thread_state.spend(size);
    return allocate_slow(call, size, known_alignment(alignment), invoke);
}

template <class Invoke>
void *allocate(reap_call call, size_t size, size_t alignment, Invoke invoke) {
    return allocate_throwing(call, size, alignment, [invoke]() -> void * {
        ThreadState &thread = thread_state;
        if (thread.inside_operator) return invoke();
        const InsideOperator inside(thread);
        return invoke();
    });
}

template <class Invoke>
void *reallocate(reap_call call, void *pointer, size_t size, Invoke invoke) {
    if (thread_state.inside_operator) return invoke();
    thread_state.spend(size);
    const auto guarded = [](void *context) -> void * {
        const InsideOperator inside(thread_state);
        return (*static_cast<Invoke *>(context))();
    };
    return realloc_by(guarded, &invoke, call, pointer, size);
}

template <class Invoke>
void release(reap_call call, void *pointer, Invoke invoke) {
    if (pointer == nullptr || thread_state.inside_operator) {
        invoke();
        return;
    }
    if (!note_free(call, pointer)) return;
    const InsideOperator inside(thread_state);
    invoke();
}

struct Shape {
    const char *symbol;
    reap_call call;
    const char *arguments; // see reap_own_functions.h

    [[nodiscard]] constexpr int place_of(char letter) const { return format::place_of(arguments, letter); }
    [[nodiscard]] constexpr bool has(char letter) const { return place_of(letter) >= 0; }
    [[nodiscard]] constexpr bool fails_otherwise() const { return *arguments == '!'; }
    [[nodiscard]] constexpr size_t count() const {
        return std::string_view(arguments).size() - (fails_otherwise() ? 1 : 0);
    }
    // Not where a block that was to be resized may be gone, or an exception passes through.
    [[nodiscard]] constexpr bool is_recorded() const { return !format::resizes(call) || !fails_otherwise(); }
};

#define REAP_SHAPE_OF(prefix, name, call, arguments) {prefix #name, REAP_CALL_##call, arguments},
#define REAP_SHAPE(allocator, name, call, arguments)                                                         \
    REAP_SHAPE_OF(REAP_PREFIX_##allocator, name, call, arguments)
#define REAP_PREFIX_JEMALLOC ""
#define REAP_PREFIX_MIMALLOC "mi_"
#define REAP_PREFIX_TCMALLOC "tc_"

constexpr std::string_view kInPlace = "xallocx";
constexpr Shape kShapes[] = {
    REAP_SHAPE(JEMALLOC, sallocx, USABLE_SIZE, "pf") // of which xallocx takes the size before
    REAP_JEMALLOC_FUNCTIONS(REAP_SHAPE) REAP_MIMALLOC_FUNCTIONS(REAP_SHAPE)
        REAP_TCMALLOC_FUNCTIONS(REAP_SHAPE)};

void *definitions[std::size(kShapes)];

// The arguments of a call, by what they are.
template <size_t kIndex, class... Words>
struct Call {
    static constexpr Shape kShape = kShapes[kIndex];

    Word words[sizeof...(Words)];

    template <char kLetter>
    [[nodiscard]] Word argument() const noexcept {
        return words[std::integral_constant<size_t, kShape.place_of(kLetter)>::value]; // it has one
    }
    [[nodiscard]] void *block() const noexcept { return reinterpret_cast<void *>(argument<'p'>()); }
    [[nodiscard]] size_t size() const noexcept {
        if constexpr (kShape.has('t')) {
            const auto *text = reinterpret_cast<const char *>(argument<'t'>());
            if constexpr (kShape.has('m')) return strnlen(text, argument<'m'>()) + 1;
            return strlen(text) + 1;
        } else if constexpr (kShape.has('n')) {
            size_t total;
            return __builtin_mul_overflow(argument<'n'>(), argument<'s'>(), &total) ? kTooLarge : total;
        } else {
            return argument<'s'>();
        }
    }
    [[nodiscard]] size_t alignment() const noexcept {
        if constexpr (kShape.has('a')) return argument<'a'>();
        if constexpr (kShape.has('f')) return alignment_of_flags(argument<'f'>());
        return kShape.call == REAP_CALL_VALLOC || kShape.call == REAP_CALL_PVALLOC ? kPage : 0;
    }
};

template <size_t kIndex, class... Words>
Word call_real(Words... words) {
    return reinterpret_cast<Word (*)(Words...)>(definitions[kIndex])(words...);
}

// The address of the block is stored by the function.
template <class Given, class Invoke>
Word allocate_into(const Given &given, Invoke invoke) {
    auto *const out = reinterpret_cast<void **>(given.template argument<'o'>());
    Word error = 0;
    (void)allocate(Given::kShape.call, given.size(), given.alignment(), [&error, out, invoke]() -> void * {
        error = invoke();
        return static_cast<int>(error) == 0 ? *out : nullptr;
    });
    return error;
}

// Returns the size that the block has then: a reallocation if that is another.
template <class Given, class Invoke>
Word resize_in_place(const Given &given, Invoke invoke) {
    const auto usable = reinterpret_cast<size_t (*)(Word, Word)>(definitions[0]);
    if (thread_state.inside_operator || usable == nullptr) return invoke();
    void *const block = given.block();
    const size_t before = usable(given.template argument<'p'>(), given.template argument<'f'>());
    Word after;
    {
        const InsideOperator inside(thread_state);
        after = invoke();
    }
    if (after != before) reallocate(REAP_CALL_REALLOC, block, after, [block] { return block; });
    return after;
}

// Ours for the function with this number.
template <size_t kIndex, class... Words>
Word own(Words... words) {
    constexpr Shape kShape = kShapes[kIndex];
    const Call<kIndex, Words...> given{{words...}};
    const auto invoke = [=] { return call_real<kIndex>(words...); };
    const auto block = [=] { return reinterpret_cast<void *>(call_real<kIndex>(words...)); };
    if constexpr (kShape.call == REAP_CALL_USABLE_SIZE) {
        return invoke();
    } else if constexpr (format::frees(kShape.call)) {
        release(kShape.call, given.block(), invoke);
        return 0;
    } else if constexpr (std::string_view(kShape.symbol) == kInPlace) {
        return resize_in_place(given, invoke);
    } else if constexpr (kShape.has('o')) {
        if (given.template argument<'o'>() == 0) return invoke();
        return allocate_into(given, invoke);
    } else {
        if constexpr (kShape.has('t')) {
            if (given.template argument<'t'>() == 0) return invoke();
        }
        void *made;
        if constexpr (format::resizes(kShape.call))
            made = reallocate(kShape.call, given.block(), given.size(), block);
        else if constexpr (kShape.call == REAP_CALL_NEW)
            made = allocate_throwing(kShape.call, given.size(), given.alignment(), block);
        else
            made = allocate(kShape.call, given.size(), given.alignment(), block);
        return reinterpret_cast<Word>(made);
    }
}

template <size_t>
using WordOf = Word;

template <size_t kIndex, size_t... kArgument>
void *address_of(std::index_sequence<kArgument...>) noexcept {
    return reinterpret_cast<void *>(&own<kIndex, WordOf<kArgument>...>);
}

template <size_t kIndex>
void *wrapper() noexcept {
    return address_of<kIndex>(std::make_index_sequence<kShapes[kIndex].count()>());
}

template <size_t kIndex>
consteval OwnFunction entry() {
    constexpr Shape kShape = kShapes[kIndex];
    return {kShape.symbol, kShape.is_recorded() ? &wrapper<kIndex> : nullptr, &definitions[kIndex]};
}

template <size_t... kIndex>
std::span<const OwnFunction> all(std::index_sequence<kIndex...>) noexcept {
    static constexpr OwnFunction functions[] = {entry<kIndex>()...};
    return functions;
}

} // namespace

std::span<const OwnFunction> own_functions() noexcept {
    return all(std::make_index_sequence<std::size(kShapes)>());
}

} // namespace reap::preload
