#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "reap/core/failure.h"
#include "reap/core/keep.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/layer/owned_reap.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/reap.h"
#include "reap/layer/thread/thread_home.h"

namespace reap::inline REAP_MODE {

/// A reap per thread, and objects that any thread may free.
///
/// Allocation, and freeing what the thread itself allocated, take no lock and write to nothing that another
/// thread writes to; another thread's object is pushed on a stack of its owner, who takes the whole stack
/// when it runs out of room at hand. When a thread ends its reap stays as it is, objects included, and passes
/// to the next new thread. The source of the reaps must be thread-safe, such as CachedSuperblocks or a Ref to
/// something Locked.
///
/// The destructor and reset() end all objects: no thread may use any meanwhile, or free one later. Use
/// abandon() to end while other threads still have objects, which they free one by one. Neither copied nor
/// moved. Costs some ten instructions in addition to the reap's own.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
class PerThread<Reap<Upstream, Granule, Window, S>, detail::MakeLayer<Reap<Upstream, Granule, Window, S>>>
    : private detail::ThreadHome {
    static_assert(S == Sizes::kept, "what other threads free comes back without its size");
    static_assert(
        std::copy_constructible<Upstream>,
        "each thread's reap has a copy of the source; let them refer to one that is thread-safe, as "
        "reap::Ref<reap::Locked<...>>");

  public:
    /// What each thread has.
    using Layer = OwnedReap<Upstream, Granule, Window>;

    explicit PerThread(const ReapOptions &options = {})
        requires std::default_initializable<Upstream>
        : PerThread(Upstream(), options) {}
    explicit PerThread(Upstream source, const ReapOptions &options = {})
        : source_(source), options_(options) {}
    PerThread(const PerThread &) = delete;
    PerThread &operator=(const PerThread &) = delete;
    ~PerThread() {
        leave();
        for_each_part(slots(), [](Layer &reap) { Layer::end(&reap); });
    }

    /// This thread's reap. Throws std::bad_alloc.
    [[nodiscard]] Layer &local() {
        Layer *const reap = try_local();
        if (reap == nullptr) [[unlikely]]
            throw_bad_alloc();
        return *reap;
    }
    /// The same, but returns null on failure.
    [[nodiscard]] Layer *try_local() noexcept {
        detail::ThreadSlot *slot = remembered();
        if (slot == nullptr) [[unlikely]]
            slot = find([this]() -> detail::ThreadSlot * { return Layer::try_make(source_, options_); });
        return static_cast<Layer *>(slot);
    }

    /// As Reap's.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment = Granule) {
        return local().allocate(size, alignment);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment = Granule) noexcept {
        Layer *const reap = try_local();
        return reap == nullptr ? nullptr : reap->try_allocate(size, alignment);
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size,
                                                   std::size_t alignment = Granule) noexcept {
        Layer *const reap = try_local();
        return reap == nullptr ? Allocation{} : reap->try_allocate_at_least(size, alignment);
    }
    /// Frees an object of any thread. It needs no PerThread: after abandon() there may be none.
    static void deallocate(void *object) noexcept { Layer::deallocate(object); }
    static void deallocate(void *object, std::size_t size, std::size_t alignment = Granule) noexcept {
        Layer::deallocate(object, size, alignment);
    }
    /// As Reap's; an object of another thread's becomes one of this thread's.
    [[nodiscard, gnu::returns_nonnull]] void *reallocate(void *object, std::size_t size,
                                                         std::size_t alignment = Granule) {
        return local().reallocate(object, size, alignment);
    }
    [[nodiscard]] void *try_reallocate(void *object, std::size_t size,
                                       std::size_t alignment = Granule) noexcept {
        Layer *const reap = try_local();
        return reap == nullptr ? nullptr : reap->try_reallocate(object, size, alignment);
    }
    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept {
        return Layer::usable_size(object);
    }

    /// As if it ended here and a new one began, except that live objects stay until they are freed: each
    /// thread's reap ends with its last one. Other threads' objects may be freed meanwhile; a thread must not
    /// free what it allocated itself, and no thread may allocate, until this returns.
    void abandon() noexcept {
        for_each_part(begin_anew(), [](Layer &reap) { Layer::leave_behind(&reap); });
    }

    // No thread may use it during the following.

    /// Frees all objects of all threads.
    void reset(std::size_t keep = keep_all) noexcept {
        each([keep](Layer &reap) { reap.reset(keep); });
    }
    /// Coalesces free memory in all reaps, and returns empty chunks.
    void trim() noexcept {
        each([](Layer &reap) { reap.trim(); });
    }
    /// Calls visit(reap) for each thread's, idle ones included.
    template <class Visit>
    void each(Visit visit) const {
        for_each_part(slots(), visit);
    }
    [[nodiscard]] bool owns(const void *address) const noexcept {
        bool found = false;
        each([&](const Layer &reap) { found = found || reap.owns(address); });
        return found;
    }
    [[nodiscard]] bool check() const noexcept {
        bool good = true;
        each([&](const Layer &reap) { good &= reap.check(); });
        return good;
    }
    /// Of all reaps together.
    [[nodiscard]] ReapStatistics statistics() const noexcept {
        ReapStatistics all;
        each([&](Layer &reap) {
            const ReapStatistics one = reap.statistics();
            all.held += one.held;
            all.live += one.live;
            all.free += one.free;
            all.largest_hole = detail::max(all.largest_hole, one.largest_hole);
            all.spare += one.spare;
            all.chunks += one.chunks;
            all.large_objects += one.large_objects;
        });
        return all;
    }
    [[nodiscard]] const ReapOptions &options() const noexcept { return options_; }

  private:
    template <class Visit>
    static void for_each_part(detail::ThreadSlot *slot, Visit visit) {
        while (slot != nullptr) visit(*static_cast<Layer *>(std::exchange(slot, slot->next)));
    }

    [[no_unique_address]] HeldCopy<Upstream> source_;
    ReapOptions options_;
};

/// The usual one.
template <Source Upstream = CachedSuperblocks, std::size_t Granule = 8>
using PerThreadReap = PerThread<Reap<Upstream, Granule>>;

} // namespace reap::inline REAP_MODE
