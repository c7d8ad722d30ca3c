#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/address_set.h"
#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/misuse.h"
#include "reap/core/mode.h"
#include "reap/core/size.h"
#include "reap/source/arena.h"
#include "reap/source/system_pages.h"

// hpalloc's names and signatures (seed 004 of this project), in the global namespace, with its contracts:
// Arena, Fixed_Block, SizeClassAllocator. For code that was written for it; new code has reap::Arena,
// reap::FixedBlock and reap::SizeClassAllocator, which grow, and of which FixedBlock is faster.
//
// Everything returns null when its arena is exhausted, and nothing grows. Nothing is thread-safe. What
// hpalloc leaves undefined stays so, but checked mode reports it. What differs: nothing here can be copied
// (hpalloc's Arena could, and was unmapped twice); a block that is larger than a page is refused (hpalloc's
// used up pages for it and returned null); and since the mode is part of every name, these classes cannot be
// declared without including this header.
//
// In checked mode guards take room beside each block, so an arena is exhausted sooner.

namespace reap::inline REAP_MODE::hpalloc {

/// Pages of 4 KB out of one mapping, in address order. No page is returned before the end.
class Arena {
  public:
    /// Throws std::invalid_argument unless the size is a multiple of 4096, not 0, and at most 256 MB;
    /// std::bad_alloc if it cannot be mapped.
    explicit Arena(std::size_t size_in_bytes) : pages_(size_in_bytes) {}
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;
    ~Arena() = default;

    [[nodiscard]] std::size_t page_size() const { return decltype(pages_)::page_size(); }
    /// The next page, aligned to 4 KB, or null.
    void *alloc_page() { return pages_.alloc_page(); }
    [[nodiscard]] std::size_t pages_allocated() const { return pages_.pages_allocated(); }
    [[nodiscard]] std::size_t total_pages() const { return pages_.total_pages(); }

  private:
    friend class Fixed_Block;
    reap::Arena<> pages_;
};

/// Blocks of one size out of the pages of an arena, the free ones linked through the blocks.
///
/// allocate() and deallocate() cost some six instructions; the first touch of a page costs a fault.
class Fixed_Block {
  public:
    /// Throws std::invalid_argument unless the size is a multiple of sizeof(void *), not 0, and at most a
    /// page.
    Fixed_Block(Arena &arena, std::size_t block_size = 64) : arena_(arena), block_size_(block_size) {
        if (block_size == 0 || block_size % sizeof(void *) != 0 || block_size > page)
            throw_invalid("Fixed_Block: the block size must be a multiple of sizeof(void *), not 0, and at "
                          "most a page of 4096 bytes; round it up, or take pages from the arena");
        alignment_ = block_size & (0 - block_size);
        stride_ = block_size;
        if constexpr (checked) {
            alignment_ = std::max(alignment_, alignof(std::max_align_t));
            stride_ = round_up(guard::padded(block_size, alignment_), alignment_);
        }
    }
    Fixed_Block(const Fixed_Block &) = delete;
    Fixed_Block &operator=(const Fixed_Block &) = delete;
    ~Fixed_Block() { release(); }

    /// A block, or null if the arena is exhausted.
    void *allocate() {
        if constexpr (checked) return guarded_allocate();
        return take();
    }

    /// Frees a block. Null is ignored.
    void deallocate(void *ptr) {
        if constexpr (checked) return guarded_deallocate(ptr);
        if (ptr == nullptr) return;
        annotate::ended(ptr, block_size_);
        put(ptr);
    }

    /// In checked mode, whether the address could have been allocated here; otherwise true.
    [[nodiscard]] bool owns(const void *ptr) const {
        const auto raw = reinterpret_cast<std::uintptr_t>(ptr) - guard::lead(alignment_);
        const auto first = raw & ~(page - 1);
        return known_.contains(reinterpret_cast<const void *>(first)) && (raw - first) % stride_ == 0;
    }

  private:
    static constexpr std::size_t page = 4096;
    static constexpr const char *name = "Fixed_Block";
    struct Free {
        Free *next;
    };
    void *take() {
        if (free_ != nullptr) [[likely]] {
            Free *const block = free_;
            free_ = block->next;
            return block;
        }
        if (fresh_ == end_) [[unlikely]] {
            refill();
            if (fresh_ == end_) return nullptr;
        }
        return std::exchange(fresh_, fresh_ + stride_);
    }
    void put(void *raw) { free_ = ::new (raw) Free{free_}; }

    /// Takes a page. Its blocks are allocated in address order, and enter the list when they are freed.
    [[gnu::noinline]] void refill() {
        // In checked mode a block with its guards may exceed a page.
        const std::size_t bytes = round_up(stride_, page);
        auto *const data = static_cast<std::byte *>(arena_.pages_.try_allocate(bytes));
        if (data == nullptr) return;
        if constexpr (checked) {
            if (!known_.insert(data)) return arena_.pages_.deallocate(data, bytes);
        }
        fresh_ = data;
        end_ = data + bytes / stride_ * stride_;
        if constexpr (checked)
            guard::close(fresh_, static_cast<std::size_t>(end_ - fresh_), guard::Fill::fresh);
    }

    void *guarded_allocate() {
        const std::size_t link = free_ != nullptr ? sizeof(Free) : 0;
        annotate::defined(free_, link);
        void *const raw = take();
        if (raw == nullptr) return nullptr;
        guard::open(static_cast<std::byte *>(raw) + link, stride_ - link, name);
        return ledger_.admit(raw, block_size_, alignment_);
    }

    void guarded_deallocate(void *ptr) {
        if constexpr (checked) {
            if (ptr == nullptr) return;
            if (!ledger_.discharge(ptr, guard::any_size, owns(ptr), name)) return;
            void *const raw = guard::raw_of(ptr);
            guard::close(raw, stride_, guard::Fill::freed);
            annotate::undefined(raw, sizeof(Free));
            put(raw);
            annotate::no_access(raw, sizeof(Free));
        }
    }

    /// Checks all blocks a last time. The pages stay with the arena.
    void release() {
        if constexpr (checked) {
            while (free_ != nullptr) {
                annotate::defined(free_, sizeof *free_);
                auto *const raw = reinterpret_cast<std::byte *>(std::exchange(free_, free_->next));
                guard::open(raw + sizeof(Free), stride_ - sizeof(Free), name);
            }
            guard::open(fresh_, static_cast<std::size_t>(end_ - fresh_), name);
            ledger_.end_newer_than(nullptr, name);
        }
    }

    Free *free_ = nullptr;
    std::byte *fresh_ = nullptr; // blocks that were never allocated
    std::byte *end_ = nullptr;
    std::size_t stride_;
    Arena &arena_;
    std::size_t block_size_;
    std::size_t alignment_;
    [[no_unique_address]] Ledger ledger_;
    [[no_unique_address]] KnownAddresses<SystemPages> known_;
};

/// Blocks of 32, 64, 128 and 256 bytes, each size with an arena of its own.
class SizeClassAllocator {
  public:
    /// Throws as Arena does.
    explicit SizeClassAllocator(std::size_t arena_size_per_class = 1 << 20)
        : arenas_{Arena(arena_size_per_class), Arena(arena_size_per_class), Arena(arena_size_per_class),
                  Arena(arena_size_per_class)} {}
    SizeClassAllocator(const SizeClassAllocator &) = delete;
    SizeClassAllocator &operator=(const SizeClassAllocator &) = delete;
    ~SizeClassAllocator() = default;

    /// A block of the smallest class that holds `size`, and the size of the class; or null if the arena of
    /// that class is exhausted. Throws std::invalid_argument for more than 256 bytes. A size of 0 counts as
    /// 1.
    void *allocate(std::size_t size, std::size_t &actual_class_size) {
        if (size > largest) [[unlikely]]
            throw_invalid("SizeClassAllocator: the size is above 256 bytes; ask another allocator for these");
        const unsigned number = class_of(size);
        actual_class_size = smallest << number;
        return blocks_[number].allocate();
    }

    /// Frees a block, given the size that allocate() returned. Null is ignored.
    void deallocate(void *ptr, std::size_t actual_class_size) {
        if (ptr == nullptr) return;
        if constexpr (checked) {
            if (!is_of_class(ptr, actual_class_size)) return;
        }
        if (actual_class_size <= largest) blocks_[class_of(actual_class_size)].deallocate(ptr);
    }

  private:
    static constexpr std::size_t smallest = 32;
    static constexpr std::size_t largest = 256;
    static constexpr unsigned classes = 4;
    static constexpr unsigned class_of(std::size_t size) {
        return static_cast<unsigned>(std::bit_width((size - (size != 0)) / smallest));
    }

    /// Reports blocks that do not belong to the class. Blocks of no class are left to the named class.
    bool is_of_class(const void *ptr, std::size_t size) const {
        if constexpr (checked) {
            for (unsigned number = 0; number < classes; ++number) {
                if (!blocks_[number].owns(ptr) || size == smallest << number) continue;
                report_misuse({Misuse::wrong_size, ptr, smallest << number, "SizeClassAllocator"});
                return false;
            }
        }
        return true;
    }

    Arena arenas_[classes]; // NOLINT(modernize-use-default-member-init): it overlooks the parameter
    Fixed_Block blocks_[classes] = {
        Fixed_Block(arenas_[0], smallest), Fixed_Block(arenas_[1], smallest << 1U),
        Fixed_Block(arenas_[2], smallest << 2U), Fixed_Block(arenas_[3], largest)};
};

} // namespace reap::inline REAP_MODE::hpalloc

using reap::hpalloc::Arena;
using reap::hpalloc::Fixed_Block;
using reap::hpalloc::SizeClassAllocator;
