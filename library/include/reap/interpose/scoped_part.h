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
/// An open scope has a chunk of its own, so that what it allocates does not lie among objects of the scope
/// around it, which live longer. When `most_pinned` chunks have objects and no scope, requests are left to
/// the heap: where most objects outlive their scope, that bounds the memory that is lost to the others.
///
/// An object has 8 bytes in front of it, as glibc's have. Hardened mode finds objects that are freed twice;
/// it has no quarantine for them.
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

    /// Opens a scope. `inside`: what close() returns. Returns its depth, from 1; 0 if too many are open.
    [[nodiscard]] std::size_t open(bool inside) noexcept {
        const std::size_t depth = this->depth();
        if (depth == most_open) return 0;
        ++here_;
        here_->inside = inside;
        return depth + 1;
    }
    /// Closes all scopes from this depth on, of which there is one at least.
    bool close(std::size_t scope) noexcept {
        bool inside = false;
        for (std::size_t depth = this->depth(); depth >= scope; --depth) {
            // An empty chunk stays for the next scope of this depth.
            if (here_->chunk != nullptr && here_->chunk->live != 0) [[unlikely]]
                leave();
            inside = here_->inside;
            --here_;
        }
        return inside;
    }
    /// Number of open scopes.
    [[nodiscard]] std::size_t depth() const noexcept { return static_cast<std::size_t>(here_ - rooms_); }

    /// `size` is at most `largest`. Null if the innermost scope's chunk has no room.
    [[nodiscard, gnu::always_inline]] void *allocate_at_hand(std::size_t size) noexcept {
        const std::size_t whole = whole_of(size);
        Room &room = *here_;
        std::byte *const place = room.next;
        if (static_cast<std::size_t>(room.end - place) < whole) [[unlikely]]
            return nullptr;
        room.next = place + whole;
        ++room.chunk->live;
        return ::new (static_cast<void *>(place)) Head{whole | in_use} + 1;
    }
    /// The same. Null if there is no other chunk either.
    [[nodiscard]] void *try_allocate(std::size_t size) noexcept {
        void *const object = allocate_at_hand(size);
        return object != nullptr || !renew() ? object : allocate_at_hand(size);
    }
    /// An object of this part.
    void free(void *object) noexcept {
        if (!end(object)) [[unlikely]]
            return;
        Chunk *const chunk = chunk_of(object);
        --chunk->live;
        if (chunk->is_empty()) emptied(chunk);
    }
    /// Whether the object has this size now, at the same address: if it is the last of its chunk, or has
    /// room.
    [[nodiscard]] bool try_resize(void *object, std::size_t size) noexcept {
        const std::size_t old = usable_size(object);
        if (size <= old) return size >= old / 2 || old < small;
        const std::size_t whole = whole_of(size);
        std::byte *const place = reinterpret_cast<std::byte *>(head_of(object));
        const bool is_last = place + old + sizeof(Head) == here_->next;
        if (!is_last || size > largest || static_cast<std::size_t>(here_->end - place) < whole) return false;
        here_->next = place + whole;
        head_of(object)->whole = whole | in_use;
        return true;
    }

    /// In any other thread.
    static void free_elsewhere(void *object) noexcept {
        if (!end(object)) [[unlikely]]
            return;
        chunk_of(object)->freed_elsewhere.fetch_add(1, std::memory_order_release);
    }
    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept {
        return (head_of(const_cast<void *>(object))->whole & ~in_use) - sizeof(Head);
    }

    /// Returns empty chunks to the process. The lock of the process's chunks may be held.
    void trim() noexcept {
        collect();
        for (Room *closed = here_ + 1; closed != rooms_ + most_open + 1; ++closed) retire(*closed);
        while (free_ != nullptr) release(std::exchange(free_, free_->next));
        free_count_ = 0;
    }
    /// Bytes in chunks.
    [[nodiscard]] std::size_t held() const noexcept { return chunks_ * chunk_size; }
    [[nodiscard]] std::size_t pinned() const noexcept { return pinned_count_; }

  private:
    using Chunks = detail::OwnedChunks<HeapOwner, ProcessChunks::window>;
    static constexpr std::size_t most_free = 16; // chunks that are kept for the next scope
    static constexpr unsigned next_try = 1000; // requests that are left to the heap before pins are looked at
    static constexpr std::size_t in_use = checked || hardened ? 1 : 0;
    static constexpr std::size_t small = 512; // shrunk without a copy

    struct Head {
        std::size_t whole; // of the object, this included; and in_use
    };
    /// At the beginning of a chunk.
    struct Chunk {
        std::size_t live; // but for freed_elsewhere
        Chunk *next;
        Chunk *previous; // of a pinned one
        bool pinned;
        alignas(64) std::atomic<std::size_t> freed_elsewhere; // written by other threads

        [[nodiscard]] bool is_empty() const noexcept {
            return live == freed_elsewhere.load(std::memory_order_acquire);
        }
    };
    struct Room {
        Chunk *chunk = nullptr;
        std::byte *next = nullptr;
        std::byte *end = nullptr;
        bool inside = false; // what its scope found
    };

    static constexpr std::size_t whole_of(std::size_t size) noexcept {
        return round_up(size + sizeof(Head), granule);
    }
    static Head *head_of(void *object) noexcept { return static_cast<Head *>(object) - 1; }
    static Chunk *chunk_of(void *object) noexcept {
        auto *const at = static_cast<std::byte *>(object);
        return reinterpret_cast<Chunk *>(at - (reinterpret_cast<std::uintptr_t>(at) & (chunk_size - 1)));
    }
    static bool end(void *object) noexcept {
        if constexpr (checked || hardened) {
            Head *const head = head_of(object);
            if ((head->whole & in_use) == 0) {
                report_misuse({Misuse::double_free, object, 0, "libreap-malloc"});
                return false;
            }
            head->whole &= ~in_use;
        }
        return true;
    }

    /// Begins a chunk anew, in which nothing lives.
    static void begin(Room &room, Chunk *chunk) noexcept {
        chunk->live = 0;
        chunk->freed_elsewhere.store(0, std::memory_order_relaxed);
        auto *const data = reinterpret_cast<std::byte *>(chunk);
        room.chunk = chunk;
        // Objects lie at multiples of the granule.
        room.next = data + round_up(sizeof(Chunk), granule) + granule - sizeof(Head);
        room.end = data + chunk_size;
    }

    /// Gives the scope another chunk. False if there is none, or too many are pinned.
    [[gnu::noinline]] bool renew() noexcept {
        if (wait_ != 0) {
            --wait_;
            return false;
        }
        if (here_->chunk != nullptr && here_->chunk->is_empty()) {
            begin(*here_, here_->chunk);
            return true;
        }
        retire(*here_);
        if (free_ == nullptr) collect();
        if (free_ != nullptr) {
            --free_count_;
            begin(*here_, std::exchange(free_, free_->next));
            return true;
        }
        const Allocation got = pinned_count_ < most_pinned
                                   ? Chunks(*this).obtain_chunk<Failure::returns_null>(chunk_size, chunk_size)
                                   : Allocation{};
        if (got.data == nullptr) {
            wait_ = next_try;
            return false;
        }
        ++chunks_;
        begin(*here_, ::new (got.data) Chunk{0, nullptr, nullptr, false, 0});
        return true;
    }
    [[gnu::noinline]] void leave() noexcept { retire(*here_); }
    /// A scope has done with its chunk.
    void retire(Room &room) noexcept {
        Chunk *const chunk = std::exchange(room.chunk, nullptr);
        room.next = room.end = nullptr;
        if (chunk == nullptr) return;
        if (chunk->is_empty()) return keep(chunk);
        chunk->pinned = true;
        chunk->previous = nullptr;
        chunk->next = pinned_;
        if (pinned_ != nullptr) pinned_->previous = chunk;
        pinned_ = chunk;
        ++pinned_count_;
    }
    [[gnu::noinline]] void emptied(Chunk *chunk) noexcept {
        if (chunk->pinned) return unpin(chunk);
        for (Room *room = here_; room != rooms_; --room)
            if (room->chunk == chunk) return begin(*room, chunk);
    }
    void unpin(Chunk *chunk) noexcept {
        if (chunk->next != nullptr) chunk->next->previous = chunk->previous;
        (chunk->previous != nullptr ? chunk->previous->next : pinned_) = chunk->next;
        chunk->pinned = false;
        --pinned_count_;
        keep(chunk);
    }
    /// Takes back chunks whose last objects other threads freed.
    void collect() noexcept {
        for (Chunk *chunk = pinned_; chunk != nullptr;) {
            Chunk *const next = chunk->next;
            if (chunk->is_empty()) unpin(chunk);
            chunk = next;
        }
    }
    void keep(Chunk *chunk) noexcept {
        wait_ = 0;
        if (free_count_ == most_free) return release(chunk);
        chunk->next = free_;
        free_ = chunk;
        ++free_count_;
    }
    void release(Chunk *chunk) noexcept {
        --chunks_;
        ProcessChunks::deallocate(chunk, chunk_size, granule);
    }

    Room rooms_[most_open + 1] = {}; // of each depth
    Room *here_ = rooms_;            // of the innermost scope, or the first, which has none
    Chunk *free_ = nullptr;
    Chunk *pinned_ = nullptr; // by objects that outlived their scope
    std::size_t free_count_ = 0;
    std::size_t pinned_count_ = 0;
    std::size_t chunks_ = 0;
    unsigned wait_ = 0;
};

} // namespace reap::inline REAP_MODE::interpose
