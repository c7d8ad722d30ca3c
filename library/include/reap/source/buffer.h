#pragma once

#include <cstddef>
#include <cstdint>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/size.h"
#include "reap/core/source.h"

namespace reap::inline REAP_MODE {

/// Memory out of a caller's buffer: on the stack, in static storage, shared, anywhere.
///
/// Takes no memory from elsewhere: when the buffer is exhausted, requests fail. It frees no single object
/// except the last one; the others stay until reset(). Runs no destructors, is not thread-safe, and can be
/// neither copied nor moved. The buffer must outlive it, and is the caller's again after it.
///
/// Costs a few instructions, and no bytes in addition to the objects except for their alignment (checked
/// mode: 64 bytes and more for each). `Fallback<Ref<Buffer>, CachedPages>` continues where the buffer ends.
/// Like std::pmr::monotonic_buffer_resource over null_memory_resource, or
/// bdlma::BufferedSequentialAllocator's buffer.
class Buffer {
  public:
    /// `size` bytes from `data`, with any alignment. With 0 bytes, all requests fail.
    Buffer(void *data, std::size_t size) noexcept
        : start_(static_cast<std::byte *>(data)), end_(data == nullptr ? start_ : start_ + size),
          top_(start_) {
        if constexpr (checked) close(guard::Fill::fresh);
    }
    template <class T, std::size_t Count>
        requires(sizeof(T) == 1)
    explicit Buffer(T (&data)[Count]) noexcept : Buffer(static_cast<void *>(data), Count) {}
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() {
        reset();
        annotate::defined(start_, capacity());
    }

    /// Throws std::bad_alloc if there is no room.
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
        void *const object = try_allocate(size, alignment);
        return object != nullptr ? object : fail<Failure::throws>();
    }
    [[nodiscard]] void *try_allocate(std::size_t size,
                                     std::size_t alignment = alignof(std::max_align_t)) noexcept {
        if constexpr (checked) return guarded(size, alignment);
        return pool_.handed_out(bump(size, alignment), size);
    }

    /// Frees the object that was allocated last; any other stays until reset().
    void deallocate(void *object, std::size_t size,
                    std::size_t /*alignment*/ = alignof(std::max_align_t)) noexcept {
        if (object == nullptr) return;
        size += size == 0;
        if constexpr (checked) return guarded_deallocate(object, size);
        give_back(object, size);
    }

    /// Frees all objects.
    void reset() noexcept {
        if constexpr (checked) {
            ledger_.end_newer_than(nullptr, name);
            guard::open(top_, available(), name);
            close(guard::Fill::reset);
        }
        pool_.emptied();
        top_ = start_;
    }

    /// Whether the address lies in the buffer.
    [[nodiscard]] bool owns(const void *address) const noexcept {
        return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(start_) <
               capacity();
    }

    /// Bytes of the buffer; used by objects and alignment padding; left.
    [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(end_ - start_); }
    [[nodiscard]] std::size_t used() const noexcept { return static_cast<std::size_t>(top_ - start_); }
    [[nodiscard]] std::size_t available() const noexcept { return static_cast<std::size_t>(end_ - top_); }

  private:
    static constexpr const char *name = "Buffer";

    void *bump(std::size_t size, std::size_t alignment) noexcept {
        size += size == 0;
        if (!is_alignment(alignment)) [[unlikely]]
            return nullptr;
        const std::size_t padding = padding_at(top_, alignment);
        const std::size_t room = available();
        if (padding > room || size > room - padding) [[unlikely]]
            return nullptr;
        std::byte *const at = top_ + padding;
        top_ = at + size;
        return at;
    }
    void give_back(void *raw, std::size_t size) noexcept {
        auto *const at = static_cast<std::byte *>(raw);
        if (at + size != top_) return;
        pool_.came_back(raw);
        top_ = at;
    }

    // Checked mode: all of it poisoned, and the same operations on objects that have guards.
    void close(guard::Fill fill) noexcept {
        if (start_ != end_) guard::close(start_, capacity(), fill);
    }
    void *guarded(std::size_t size, std::size_t alignment) noexcept {
        if (!is_possible(size, alignment, guard::extra(alignment))) return nullptr;
        size += size == 0;
        alignment = detail::max(alignment, alignof(std::max_align_t));
        const std::size_t whole = guard::padded(size, alignment);
        void *const raw = bump(whole, alignment);
        if (raw == nullptr) return nullptr;
        guard::open(raw, whole, name);
        return ledger_.admit(raw, size, alignment);
    }
    void guarded_deallocate(void *object, std::size_t size) noexcept {
        if (!ledger_.discharge(object, size, owns(object), name)) return;
        auto *const raw = static_cast<std::byte *>(guard::raw_of(object));
        const std::size_t whole =
            static_cast<std::size_t>(static_cast<std::byte *>(object) - raw) + size + guard::back_zone;
        guard::close(raw, whole, guard::Fill::freed);
        give_back(raw, whole);
    }

    std::byte *start_;
    std::byte *end_;
    std::byte *top_;
    [[no_unique_address]] Ledger ledger_;
    [[no_unique_address]] annotate::Pool<Buffer> pool_{name};
};

} // namespace reap::inline REAP_MODE
