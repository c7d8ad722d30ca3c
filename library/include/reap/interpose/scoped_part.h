#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "reap/core/failure.h"
#include "reap/core/misuse.h"
#include "reap/core/mode.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/interpose/heap_owner.h"
#include "reap/interpose/process_chunks.h"
#include "reap/layer/owned_reap.h"

namespace reap::inline REAP_MODE::interpose {

/// The objects of one thread's scopes (scope.h): taken from chunks by a bump pointer. Each chunk counts its
/// live objects, and is used again when there are none, whoever freed them and however late: an object that
/// outlives its scope keeps its chunk from being used, and costs nothing else.
///
/// An open scope has chunks of its own, so that what it allocates does not lie among objects of the scope
/// around it, which live longer. Chunks whose objects outlived their scope are pinned. When `most_pinned`
/// are, requests are left to the heap: where most objects outlive their scope, that bounds the memory that is
/// lost to the others.
///
/// An object has 8 bytes in front of it, as glibc's have. Hardened and checked mode find objects that are
/// freed twice before their chunk is used again; these have no quarantine.
///
/// Everything except free_elsewhere() and usable_size() is for the thread that owns the heap.
class ScopedPart : public HeapOwner {
  public:
    static constexpr std::size_t granule = 16;
    /// Larger objects are the heap's.
    static constexpr std::size_t largest = 4096;
    static constexpr std::size_t chunk_size = std::size_t{32} << 10;
    static constexpr std::size_t most_pinned = 64;
    static constexpr std::size_t most_open = 16;

    ScopedPart() noexcept : HeapOwner(Part::scoped) {}

    /// Opens a scope. `was_in_scope`: what close() returns. Returns its depth, from 1; 0 if too many are
    /// open.
    [[nodiscard]] std::size_t open(bool was_in_scope) noexcept {
        const std::size_t depth = this->depth();
        if (depth == most_open) return 0;
        ++innermost_;
        innermost_->was_in_scope = was_in_scope;
        return depth + 1;
    }
    /// Closes all scopes from this depth on, of which there is one at least.
    bool close(std::size_t scope) noexcept {
        bool was_in_scope = false;
        for (std::size_t depth = this->depth(); depth >= scope; --depth) {
            // An empty chunk stays for the next scope of this depth.
            const bool outlived = innermost_->chunk != nullptr && innermost_->chunk->live != 0;
            if (outlived || innermost_->has_full) [[unlikely]]
                give_up_chunks();
            was_in_scope = innermost_->was_in_scope;
            --innermost_;
        }
        return was_in_scope;
    }
    /// Number of open scopes.
    [[nodiscard]] std::size_t depth() const noexcept {
        return static_cast<std::size_t>(innermost_ - levels_);
    }

    /// Allocates from the chunk of the innermost scope; null if that is full. `size` is at most
    /// `largest`.
    [[nodiscard, gnu::always_inline]] void *allocate_at_hand(std::size_t size) noexcept {
        const std::size_t whole = whole_of(size);
        Level &level = *innermost_;
        std::byte *const place = level.next;
        if (static_cast<std::size_t>(level.end - place) < whole) [[unlikely]]
            return nullptr;
        level.next = place + whole;
        ++level.chunk->live;
        return ::new (static_cast<void *>(place)) Head{whole | in_use} + 1;
    }
    /// Allocates from that chunk or from another one; null if there is none.
    [[nodiscard]] void *try_allocate(std::size_t size) noexcept {
        void *const object = allocate_at_hand(size);
        return object != nullptr || !take_chunk() ? object : allocate_at_hand(size);
    }
    /// An object of this part.
    void free(void *object) noexcept {
        if (!mark_freed(object)) [[unlikely]]
            return;
        Chunk *const chunk = chunk_of(object);
        --chunk->live;
        if (chunk->is_empty()) emptied(chunk);
    }
    /// Resizes an object where it is: if it is the last of its chunk, or shrinks. Returns false if not.
    [[nodiscard]] bool try_resize(void *object, std::size_t size) noexcept {
        if (!is_in_use(object)) return false; // whoever frees it then reports that
        const std::size_t old = usable_size(object);
        if (size <= old) return size >= old / 2 || old < small;
        const std::size_t whole = whole_of(size);
        std::byte *const place = reinterpret_cast<std::byte *>(head_of(object));
        const bool is_last = place + old + sizeof(Head) == innermost_->next;
        if (!is_last || size > largest || static_cast<std::size_t>(innermost_->end - place) < whole)
            return false;
        innermost_->next = place + whole;
        head_of(object)->whole = whole | in_use;
        return true;
    }

    /// In any other thread.
    static void free_elsewhere(void *object) noexcept {
        if (!mark_freed(object)) [[unlikely]]
            return;
        chunk_of(object)->freed_elsewhere.fetch_add(1, std::memory_order_release);
    }
    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept {
        return (head_of(const_cast<void *>(object))->whole & ~in_use) - sizeof(Head);
    }

    /// Returns empty chunks to the process. The lock of the process's chunks may be held.
    void trim() noexcept {
        collect(pinned_, most_pinned);
        for (Level *level = innermost_ + 1; level != levels_ + most_open + 1; ++level) put_away(*level);
        while (free_ != nullptr) release(std::exchange(free_, static_cast<Chunk *>(free_->next)));
        free_count_ = 0;
    }
    /// Bytes in chunks; of these, in chunks that wait for the next scope.
    [[nodiscard]] std::size_t held() const noexcept { return chunks_ * chunk_size; }
    [[nodiscard]] std::size_t freed() const noexcept {
        std::size_t waiting = free_count_;
        for (const Level *level = innermost_ + 1; level != levels_ + most_open + 1; ++level)
            waiting += level->chunk != nullptr;
        return waiting * chunk_size;
    }

  private:
    using Chunks = detail::OwnedChunks<HeapOwner, ProcessChunks::window>;
    static constexpr std::size_t most_free = 16; // chunks that wait for the next scope
    static constexpr std::size_t some = 8;       // full ones that are looked at for each that is taken
    static constexpr unsigned backoff = 1000;    // requests, of all scopes, that are left to the heap then
    static constexpr std::size_t in_use = checked || hardened ? 1 : 0;
    static constexpr std::size_t small = 512; // shrunk without a copy

    struct Head {
        std::size_t whole; // of the object, this included; and in_use
    };
    /// Of a circular list; a list begins with one that is no chunk.
    struct Link {
        Link *next = this;
        Link *previous = this;

        Link() = default;
        Link(const Link &) = delete;
        Link &operator=(const Link &) = delete;
        ~Link() = default;

        void unlink() const noexcept {
            next->previous = previous;
            previous->next = next;
        }
        /// At the end of the list that begins here.
        void append(Link &link) noexcept {
            link.next = this;
            link.previous = std::exchange(previous, &link);
            link.previous->next = &link;
        }
    };
    /// At the beginning of a chunk.
    struct Chunk : Link {
        std::size_t live = 0; // but for freed_elsewhere
        bool is_full = false; // in a list: of an open scope's full ones, or of pinned ones
        bool is_pinned = false;
        alignas(64) std::atomic<std::size_t> freed_elsewhere{0}; // written by other threads

        [[nodiscard]] bool is_empty() const noexcept {
            return live == freed_elsewhere.load(std::memory_order_acquire);
        }
    };
    /// A scope that is open, or may be again, in this depth.
    struct Level {
        Chunk *chunk = nullptr;
        std::byte *next = nullptr;
        std::byte *end = nullptr;
        bool was_in_scope = false;
        bool has_full = false; // or had some
        Link full;             // chunks that are full
    };

    static constexpr std::size_t whole_of(std::size_t size) noexcept {
        return round_up(size + sizeof(Head), granule);
    }
    static Head *head_of(void *object) noexcept { return static_cast<Head *>(object) - 1; }
    static Chunk *chunk_of(void *object) noexcept {
        auto *const at = static_cast<std::byte *>(object);
        return reinterpret_cast<Chunk *>(at - (reinterpret_cast<std::uintptr_t>(at) & (chunk_size - 1)));
    }
    static bool is_in_use(void *object) noexcept { return (head_of(object)->whole & in_use) == in_use; }
    /// Returns false, with a report, if it was freed before: in the modes that look.
    static bool mark_freed(void *object) noexcept {
        if constexpr (in_use != 0) {
            if (!is_in_use(object)) {
                report_misuse({Misuse::double_free, object, 0, "libreap-malloc"});
                return false;
            }
            head_of(object)->whole &= ~in_use;
        }
        return true;
    }

    /// Makes an empty chunk the level's.
    static void begin(Level &level, Chunk *chunk) noexcept {
        chunk->live = 0;
        chunk->freed_elsewhere.store(0, std::memory_order_relaxed);
        auto *const data = reinterpret_cast<std::byte *>(chunk);
        level.chunk = chunk;
        // Objects lie at multiples of the granule.
        level.next = data + round_up(sizeof(Chunk), granule) + granule - sizeof(Head);
        level.end = data + chunk_size;
    }
    /// Returns the level's chunk, which it has no more.
    static Chunk *take_from(Level &level) noexcept {
        level.next = level.end = nullptr;
        return std::exchange(level.chunk, nullptr);
    }

    /// Gives the innermost scope a chunk that is not full. False if there is none, or too many are pinned.
    [[gnu::noinline]] bool take_chunk() noexcept {
        if (left_to_heap_ != 0) {
            --left_to_heap_;
            return false;
        }
        Level &level = *innermost_;
        if (Chunk *const chunk = take_from(level); chunk != nullptr) {
            if (chunk->is_empty()) {
                begin(level, chunk);
                return true;
            }
            chunk->is_full = true;
            level.full.append(*chunk);
            level.has_full = true;
        }
        collect(level.full, some);
        if (free_ == nullptr) collect(pinned_, most_pinned);
        if (free_ != nullptr) {
            --free_count_;
            begin(level, std::exchange(free_, static_cast<Chunk *>(free_->next)));
            return true;
        }
        const Allocation got = pinned_count_ < most_pinned
                                   ? Chunks(*this).obtain_chunk<Failure::returns_null>(chunk_size, chunk_size)
                                   : Allocation{};
        if (got.data == nullptr) {
            left_to_heap_ = backoff;
            return false;
        }
        ++chunks_;
        begin(level, ::new (got.data) Chunk);
        return true;
    }
    /// The innermost scope ends: its chunks are pinned, or wait for the next one.
    [[gnu::noinline]] void give_up_chunks() noexcept {
        Level &level = *innermost_;
        put_away(level);
        while (level.full.next != &level.full) {
            auto *const chunk = static_cast<Chunk *>(level.full.next);
            chunk->unlink();
            put_away(chunk);
        }
        level.has_full = false;
    }
    void put_away(Level &level) noexcept {
        if (Chunk *const chunk = take_from(level); chunk != nullptr) put_away(chunk);
    }
    void put_away(Chunk *chunk) noexcept {
        if (chunk->is_empty()) return wait(chunk);
        chunk->is_full = chunk->is_pinned = true;
        pinned_.append(*chunk);
        ++pinned_count_;
    }
    [[gnu::noinline]] void emptied(Chunk *chunk) noexcept {
        if (chunk->is_full) return take_out(chunk);
        for (Level *level = innermost_; level != levels_; --level)
            if (level->chunk == chunk) return begin(*level, chunk);
    }
    void take_out(Chunk *chunk) noexcept {
        chunk->unlink();
        pinned_count_ -= chunk->is_pinned;
        wait(chunk);
    }
    /// Takes out chunks whose last objects other threads freed, of the first `most` of a list, which come
    /// last then.
    void collect(Link &list, std::size_t most) noexcept {
        Link *const last = list.previous;
        for (Link *link = list.next; most-- != 0 && link != &list;) {
            auto *const chunk = static_cast<Chunk *>(link);
            const bool was_last = link == last;
            link = link->next;
            if (chunk->is_empty()) {
                take_out(chunk);
            } else {
                chunk->unlink();
                list.append(*chunk);
            }
            if (was_last) return;
        }
    }
    void wait(Chunk *chunk) noexcept {
        chunk->is_full = chunk->is_pinned = false;
        left_to_heap_ = 0;
        if (free_count_ == most_free) return release(chunk);
        chunk->next = free_;
        free_ = chunk;
        ++free_count_;
    }
    void release(Chunk *chunk) noexcept {
        --chunks_;
        ProcessChunks::deallocate(chunk, chunk_size, granule);
    }

    Level levels_[most_open + 1];
    Level *innermost_ = levels_; // the first, which is no scope's, where none is open
    Chunk *free_ = nullptr;      // linked by `next` alone
    Link pinned_;
    std::size_t free_count_ = 0;
    std::size_t pinned_count_ = 0;
    std::size_t chunks_ = 0;
    unsigned left_to_heap_ = 0;
};

} // namespace reap::inline REAP_MODE::interpose
