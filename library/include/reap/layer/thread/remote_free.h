#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/keep.h"
#include "reap/core/misuse.h"
#include "reap/core/source.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/thread/thread_home.h"
#include "reap/source/cached_pages.h"

// Per-thread pools of blocks that any thread may free. The implementation of PerThread for FixedBlock and
// SizeClassAllocator.
//
// A block's slab, found from its address, identifies its pool. Another thread's blocks are pushed on a stack
// of that pool: one compare-and-swap. The owner takes the whole stack by one exchange, so a push cannot
// suffer from ABA (mistake a new first block for an old one). The push releases and the exchange acquires:
// accesses to the block before it was freed happen before it is allocated again.
//
// Checked mode uses a lock per pool instead, so that reports are exact. The stack is not used.

namespace reap::inline REAP_MODE {

/// What the pools of all threads hold together.
struct PerThreadStatistics {
    std::size_t held = 0; ///< bytes taken from the source
    std::size_t live = 0; ///< blocks allocated; those pushed but not yet taken back by their thread included
    std::size_t threads = 0; ///< maximum number of threads that had pools at one time
};

namespace detail {

struct BlockShape {
    std::size_t size;
    std::size_t alignment;
};

/// A FixedBlock of one thread, whose blocks any thread may free.
template <Source Upstream>
class OwnedBlock : public FixedBlock<Upstream> {
  public:
    OwnedBlock(const ThreadSlot &slot, const void *home, const Upstream &source, const BlockShape &shape,
               const FixedBlockOptions &options)
        : FixedBlock<Upstream>(source, shape.size, shape.alignment, options), slot_(&slot) {
        this->belong_to(home);
    }

    using FixedBlock<Upstream>::put;
    using FixedBlock<Upstream>::retire;
    using FixedBlock<Upstream>::retire_held;
    using FixedBlock<Upstream>::slab_size;
    using FixedBlock<Upstream>::is_sealed;

    template <Failure F>
    [[gnu::always_inline]] void *allocate_here() noexcept(F == Failure::returns_null) {
        return this->serve([this] { return drain<F>(); });
    }

    static OwnedBlock &of(void *block, std::size_t slab_size) noexcept {
        return *static_cast<OwnedBlock *>(FixedBlock<Upstream>::owner_of(block, slab_size));
    }
    [[nodiscard]] bool is_mine() const noexcept {
        return slot_->thread.load(std::memory_order_relaxed) == ThreadHome::this_thread();
    }

    /// Frees a block in a thread that is not the owner.
    [[gnu::noinline]] void push(void *block) noexcept {
        Waiting *first = waiting_.load(std::memory_order_relaxed);
        Waiting *node = nullptr;
        do {
            node = this->links().make(block, first);
        } while (!waiting_.compare_exchange_weak(first, node, std::memory_order_release,
                                                 std::memory_order_relaxed));
    }

    /// Drops the pushed blocks: all of them are freed at once.
    void forget_waiting() noexcept { waiting_.store(nullptr, std::memory_order_relaxed); }

    std::mutex &mutex() const noexcept { return mutex_; } // checked mode's

  private:
    struct Waiting {
        Waiting *next;
    };

    /// The slow path: blocks that others freed meanwhile, otherwise more from the source.
    template <Failure F>
    [[gnu::noinline]] void *drain() noexcept(F == Failure::returns_null) {
        Waiting *block = waiting_.exchange(nullptr, std::memory_order_acquire);
        if (block == nullptr) return this->template refill<F>();
        if constexpr (hardened) {
            while (block != nullptr) {
                if (!this->links().is_valid(block)) {
                    // What follows it is lost.
                    report_misuse({Misuse::use_after_free, block, this->block_size(), name});
                    break;
                }
                retire(std::exchange(block, this->links().next(block)), name);
            }
            // All of it may be in quarantine.
            return this->take([this] { return this->template refill<F>(); });
        }
        while (block != nullptr) put(std::exchange(block, block->next));
        return this->take([] { return nullptr; });
    }

    static constexpr const char *name = "PerThread";

    const ThreadSlot *slot_;
    mutable std::mutex mutex_;
    alignas(64) std::atomic<Waiting *> waiting_{nullptr}; // written by others: a cache line of its own
};

/// For each thread, pools of `count` shapes.
template <Source Upstream, std::size_t count>
class PerThreadPools : private ThreadHome {
    static_assert(
        std::copy_constructible<Upstream>,
        "each thread's pools have a copy of the source; let them refer to one that is thread-safe, as "
        "reap::Ref<reap::Locked<...>>");

  public:
    PerThreadPools(const PerThreadPools &) = delete;
    PerThreadPools &operator=(const PerThreadPools &) = delete;

    /// Frees all blocks. No thread may use the pools meanwhile.
    void reset(std::size_t keep = keep_all) noexcept {
        pool_.emptied();
        each([keep](OwnedBlock<Upstream> &pool) {
            pool.forget_waiting();
            pool.reset(keep);
        });
    }
    /// Whether the address lies in a pool. Linear in the number of chunks and threads. No thread may allocate
    /// meanwhile.
    [[nodiscard]] bool owns(const void *address) const noexcept {
        bool found = false;
        each([&](const OwnedBlock<Upstream> &pool) { found = found || pool.owns(address); });
        return found;
    }
    /// No thread may use the pools meanwhile.
    [[nodiscard]] PerThreadStatistics statistics() const noexcept {
        PerThreadStatistics found;
        each([&](const OwnedBlock<Upstream> &pool) {
            const FixedBlockStatistics mine = pool.statistics();
            found.held += mine.held;
            found.live += mine.live;
        });
        for (const ThreadSlot *slot = slots(); slot != nullptr; slot = slot->next) ++found.threads;
        return found;
    }

  protected:
    PerThreadPools(Upstream source, const std::array<BlockShape, count> &shapes,
                   const FixedBlockOptions &options)
        : source_(source), shapes_(shapes), options_(options) {
        // Now, so that an invalid shape fails now.
        Slot *const slot = make_slot();
        if (slot == nullptr) throw_bad_alloc();
        for (std::size_t number = 0; number < count; ++number)
            slab_sizes_[number] = slot->pools[number].slab_size();
        add(slot);
    }
    ~PerThreadPools() {
        leave();
        pool_.emptied();
        for (ThreadSlot *slot = slots(); slot != nullptr;) {
            auto *const mine = static_cast<Slot *>(slot);
            slot = slot->next;
            mine->~Slot();
            CachedPages::deallocate(mine, sizeof(Slot), alignof(Slot));
        }
    }

    [[nodiscard]] const BlockShape &shape(std::size_t number) const noexcept { return shapes_[number]; }

    template <Failure F>
    [[gnu::always_inline]] void *allocate(std::size_t number, [[maybe_unused]] std::size_t size) {
        ThreadSlot *slot = remembered();
        if (slot == nullptr) [[unlikely]] {
            slot = find([this] { return make_slot(); });
            if (slot == nullptr) return fail<F>();
        }
        OwnedBlock<Upstream> &pool = static_cast<Slot *>(slot)->pools[number];
        if constexpr (checked) {
            const std::scoped_lock lock(pool.mutex());
            if constexpr (F == Failure::throws) return pool.allocate(size, 1);
            return pool.try_allocate(size, 1);
        }
        return pool_.handed_out(pool.template allocate_here<F>(), size);
    }

    [[gnu::always_inline]] void deallocate(std::size_t number, void *block, std::size_t size) noexcept {
        if constexpr (checked) return guarded_deallocate(number, block, size);
        if (block == nullptr) return;
        if constexpr (hardened) {
            if (!is_from(number, block)) [[unlikely]]
                return report_wrong(block);
            auto &pool = OwnedBlock<Upstream>::of(block, slab_sizes_[number]);
            if (pool.is_mine()) [[likely]]
                return pool.retire_held(block, name);
        }
        if (number >= count) __builtin_unreachable();
        annotate::ended(block, shapes_[number].size);
        pool_.came_back(block);
        auto &pool = OwnedBlock<Upstream>::of(block, slab_sizes_[number]);
        if (!pool.is_mine()) [[unlikely]]
            return pool.push(block);
        pool.put(block);
    }

  private:
    static constexpr const char *name = "PerThread";

    struct Slot : ThreadSlot {
        template <std::size_t... Numbers>
        Slot(const PerThreadPools &home, std::index_sequence<Numbers...> /*all*/)
            : pools{OwnedBlock<Upstream>(*this, &home, home.source_, home.shapes_[Numbers],
                                         home.options_)...} {}
        OwnedBlock<Upstream> pools[count];
    };
    struct Unfinished {
        void *data;
        ~Unfinished() {
            if (data != nullptr) CachedPages::deallocate(data, sizeof(Slot), alignof(Slot));
        }
    };
    [[nodiscard]] Slot *make_slot() const {
        void *const data = CachedPages::try_allocate(sizeof(Slot), alignof(Slot));
        if (data == nullptr) return nullptr;
        Unfinished memory{data};
        auto *const slot = ::new (data) Slot(*this, std::make_index_sequence<count>());
        memory.data = nullptr;
        return slot;
    }

    template <class Visit>
    void each(Visit visit) const noexcept {
        for (ThreadSlot *slot = slots(); slot != nullptr; slot = slot->next) {
            auto &pools = static_cast<Slot *>(slot)->pools;
            std::for_each(std::begin(pools), std::end(pools), visit);
        }
    }

    /// Whether one of these pools, of that shape, made the slab of a block: hardened mode's check, in any
    /// thread.
    [[nodiscard]] bool is_from(std::size_t number, void *block) const noexcept {
        return number < count && OwnedBlock<Upstream>::is_sealed(block, slab_sizes_[number], this) &&
               OwnedBlock<Upstream>::of(block, slab_sizes_[number]).block_size() == shapes_[number].size;
    }
    [[gnu::noinline]] void report_wrong(void *block) const noexcept {
        bool mine = false;
        for (std::size_t number = 0; number < count; ++number) mine = mine || is_from(number, block);
        report_misuse({mine ? Misuse::wrong_size : Misuse::foreign_free, block, 0, name});
    }

    void guarded_deallocate(std::size_t number, void *block, std::size_t size) noexcept {
        if (block == nullptr) return;
        for (ThreadSlot *slot = slots(); slot != nullptr; slot = slot->next) {
            auto &pools = static_cast<Slot *>(slot)->pools;
            for (std::size_t at = 0; at < count; ++at) {
                const std::scoped_lock lock(pools[at].mutex());
                if (!pools[at].owns(block)) continue;
                if (at != number) return report_misuse({Misuse::wrong_size, block, 0, name});
                if (size == guard::any_size) return pools[at].deallocate(block);
                return pools[at].deallocate(block, size, 1);
            }
        }
        report_misuse({Misuse::foreign_free, block, 0, name});
    }

    HeldCopy<Upstream> source_;
    std::array<BlockShape, count> shapes_;
    std::array<std::size_t, count> slab_sizes_{};
    FixedBlockOptions options_;
    [[no_unique_address]] annotate::Pool<PerThreadPools> pool_{name};
};

} // namespace detail

} // namespace reap::inline REAP_MODE
