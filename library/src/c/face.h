#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/face/c/common.h"
#include "reap/source/cached_pages.h"

// Shared by the C API of every layer.

namespace reap::inline REAP_MODE::c {

/// The source of all layers here: the caller's functions, or the library's cached pages.
class CSource {
  public:
    static constexpr bool copies_are_equal = true; // what the caller gave refers to the caller's memory

    explicit CSource(const reap_source *source) noexcept
        : source_(source == nullptr ? reap_source{} : *source) {}

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) const noexcept {
        if (source_.allocate == nullptr) return CachedPages::try_allocate(size, alignment);
        return source_.allocate(source_.context, size, alignment);
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) const noexcept {
        if (source_.allocate == nullptr) return CachedPages::try_allocate_at_least(size, alignment);
        return {source_.allocate(source_.context, size, alignment), size};
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) const noexcept {
        if (source_.allocate == nullptr) return CachedPages::deallocate(data, size, alignment);
        source_.deallocate(source_.context, data, size, alignment);
    }
    friend bool operator==(const CSource &one, const CSource &other) noexcept {
        return one.source_.context == other.source_.context &&
               one.source_.allocate == other.source_.allocate &&
               one.source_.deallocate == other.source_.deallocate;
    }

  private:
    reap_source source_;
};

/// A function to call at the end.
class AtEnd {
  public:
    AtEnd(void (*run)(void *), void *argument) noexcept : run_(run), argument_(argument) {}
    AtEnd(const AtEnd &) = delete;
    AtEnd &operator=(const AtEnd &) = delete;
    ~AtEnd() { run_(argument_); }

  private:
    void (*run_)(void *);
    void *argument_;
};

/// Whether a source is usable: null, or one with both functions.
inline bool is_whole(const reap_source *source) noexcept {
    return source == nullptr || (source->allocate != nullptr && source->deallocate != nullptr);
}

/// Reads the options of a caller that may know fewer fields than this library, which then keep their
/// defaults, or more, which then must be 0. Otherwise changes nothing and returns false.
template <class Options>
bool read_options(const Options *given, Options &options) noexcept {
    if (given == nullptr) return true;
    const std::size_t size = given->size;
    if (size < sizeof(std::size_t)) return false;
    const auto *const bytes = reinterpret_cast<const unsigned char *>(given);
    for (std::size_t at = sizeof(Options); at < size; ++at) {
        if (bytes[at] != 0) return false;
    }
    std::memcpy(&options, given, size < sizeof(Options) ? size : sizeof(Options));
    return true;
}

/// Fills in as many of the figures as the caller knows.
template <class Figures>
void write_figures(const Figures &found, Figures *figures) noexcept {
    const std::size_t size = figures->size < sizeof(Figures) ? figures->size : sizeof(Figures);
    if (size <= sizeof(std::size_t)) return;
    const std::size_t known = figures->size;
    std::memcpy(figures, &found, size);
    figures->size = known;
}

/// Sets errno for a missing result.
[[gnu::cold]] inline std::nullptr_t refuse(int error) noexcept {
    errno = error;
    return nullptr;
}

/// Passes on whether a layer accepted its arguments, and sets errno if not.
inline bool accept(bool done) noexcept {
    if (!done) errno = EINVAL;
    return done;
}

/// Passes on a layer's result for a request, and sets errno if it is null.
inline void *answer(void *object, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if (object == nullptr) [[unlikely]]
        return refuse(is_alignment(alignment) ? ENOMEM : EINVAL);
    return object;
}

/// Calls what may throw; an empty result and errno if it did.
template <class F>
auto without_exceptions(F &&call) noexcept -> std::invoke_result_t<F> {
    try {
        return std::forward<F>(call)();
    } catch (const std::invalid_argument &) {
        errno = EINVAL;
    } catch (...) {
        errno = ENOMEM;
    }
    return {};
}

/// The target of a handle: the layer, made of the arguments.
template <class Layer>
struct Held {
    template <class... Arguments>
    explicit Held(Arguments &&...arguments) : layer(std::forward<Arguments>(arguments)...) {}
    Layer layer;
};

/// Makes a handle. Does not use C++'s own allocation: a program may have replaced that by this library.
template <class Handle, class... Arguments>
Handle *make(Arguments &&...arguments) noexcept {
    return without_exceptions([&]() -> Handle * {
        struct Memory {
            void *data = std::malloc(sizeof(Handle));
            ~Memory() { std::free(data); }
        } memory;
        if (memory.data == nullptr) return refuse(ENOMEM);
        auto *const handle = ::new (memory.data) Handle(std::forward<Arguments>(arguments)...);
        memory.data = nullptr;
        return handle;
    });
}

/// Ends a handle that make() made.
template <class Handle>
void end(Handle *handle) noexcept {
    if (handle == nullptr) return;
    handle->~Handle();
    std::free(handle);
}

} // namespace reap::inline REAP_MODE::c
