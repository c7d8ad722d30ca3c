#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/keep.h"
#include "reap/core/misuse.h"
#include "reap/core/secret.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/layer/reap.h"
#include "reap/layer/thread/return_stack.h"
#include "reap/layer/thread/thread_home.h"
#include "reap/source/cached_pages.h"
#include "reap/source/cached_superblocks.h"
#include "reap/source/superblocks.h"

namespace reap::inline REAP_MODE {

namespace detail {

/// The record that an object's address leads to: its owner. One with another Granule reads sizes otherwise.
template <class Chunks, std::size_t Granule>
struct ReapOwner : ThreadSlot {
    explicit ReapOwner() = default;
    explicit ReapOwner(const auto &upstream) : chunks(upstream) {}

    /// What the reap tries before it looks for room.
    template <class Use>
    void take_returned(Use use) noexcept {
        returned.take_all(use);
    }

    [[no_unique_address]] Chunks chunks;
    alignas(64) ReturnStack<> returned; // written by other threads: a cache line of its own
};

/// The address range of something that threads share: it grows, and never shrinks.
class SharedRange {
  public:
    void cover(const void *data, std::size_t size) noexcept {
        const auto start = reinterpret_cast<std::uintptr_t>(data);
        std::uintptr_t low = low_.load(std::memory_order_relaxed);
        while (start < low && !low_.compare_exchange_weak(low, start, std::memory_order_relaxed)) {
        }
        std::uintptr_t high = high_.load(std::memory_order_relaxed);
        while (start + size > high &&
               !high_.compare_exchange_weak(high, start + size, std::memory_order_relaxed)) {
        }
    }
    [[nodiscard]] bool covers(const void *address) const noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        return at > low_.load(std::memory_order_relaxed) && at < high_.load(std::memory_order_relaxed);
    }

  private:
    std::atomic<std::uintptr_t> low_{std::numeric_limits<std::uintptr_t>::max()};
    std::atomic<std::uintptr_t> high_{0};
};

/// Its address identifies a type of owner.
template <class Owner>
inline constinit char owner_type = 0;

/// The chunks of one owner, which identify it: the superblock of a block has a word that points to the owner.
/// As a source it is a pointer, and can be copied.
template <class Owner, std::size_t Window>
class OwnedChunks {
    using Words = Superblocks<SystemPages, Window>;

  public:
    static constexpr bool copies_are_equal = true;
    static constexpr std::size_t window = Window;

    explicit OwnedChunks(Owner &owner) noexcept : owner_(&owner) {}

    template <Failure F>
    [[nodiscard]] Allocation obtain_chunk(std::size_t least, std::size_t wanted) {
        const Allocation got = chunk_source().template obtain_chunk<F>(least, wanted);
        for (std::size_t at = 0; at < got.size; at += Words::smallest)
            claim(static_cast<std::byte *>(got.data) + at);
        if constexpr (requires { typename Owner::Group; }) {
            static_assert(sizeof(typename Owner::Group) <= Words::group_room);
            if (got.data != nullptr)
                Words::begin_groups(got, [](void *room) { ::new (room) typename Owner::Group; });
        }
        cover(got.data, got.size);
        return got;
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return claim_large(obtain<Failure::returns_null>(owner_->chunks, size, alignment), size, alignment);
    }
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) {
        return claim_large(obtain<Failure::throws>(owner_->chunks, size, alignment), size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        owner_->chunks.deallocate(data, size, alignment);
    }
    /// The ownership record is in the memory itself.
    [[nodiscard]] void *try_resize(void *data, std::size_t size, std::size_t new_size,
                                   std::size_t alignment) noexcept
        requires ResizingSource<decltype(Owner::chunks)>
    {
        void *const resized = owner_->chunks.try_resize(data, size, new_size, alignment);
        if constexpr (hardened) {
            if (resized != nullptr) {
                cover(resized, new_size);
                if (resized != data) claim_again(data, resized, alignment);
            }
        }
        return resized;
    }

    /// Records the owner of all of a window, in the words at its beginning: for callers that take whole
    /// windows.
    void claim_window(std::byte *data) noexcept {
        for (std::size_t at = 0; at < Window; at += Words::smallest) claim(data + at);
        cover(data, Window);
    }

    /// What a reap tries before it looks for room.
    template <class Use>
    void take_returned(Use use) noexcept {
        owner_->take_returned(use);
    }

    /// What the owner keeps for the group of a chunk's bytes that contains the object: an Owner::Group.
    [[nodiscard]] static auto &group_of(const void *object) noexcept {
        return *std::launder(static_cast<typename Owner::Group *>(Words::room_for(object)));
    }

    /// The owner of that object. Determined from the byte in front of it, which is in the same chunk, or for
    /// a large object in the same memory: a large object may be aligned to a superblock's beginning, whose
    /// words are its own bytes.
    [[nodiscard]] static Owner &owner_of(const void *object) noexcept { return *word_of(object); }
    /// The same for an object that is not aligned to a superblock, and so lies behind a chunk's first bytes.
    [[nodiscard]] static Owner *owner_of_unaligned(const void *object) noexcept {
        return decode(Words::word_for(object));
    }
    /// Hardened mode: whether it can be an object of any owner. An invalid address near one is recognized in
    /// all but one of 2^23 cases.
    [[nodiscard]] static bool has_owner(const void *object) noexcept {
        if (!all_.covers(object)) return false;
        const auto owner = reinterpret_cast<std::uintptr_t>(word_of(object));
        return owner != 0 && owner % alignof(Owner) == 0 && owner >> 47U == 0;
    }

  private:
    static Owner *word_of(const void *object) noexcept {
        return decode(Words::word_for(static_cast<const std::byte *>(object) - 1));
    }
    /// In hardened mode only this library can decode the owner from a word.
    static Owner *decode(void **word) noexcept {
        if constexpr (hardened) return static_cast<Owner *>(encoded(*word, word));
        return static_cast<Owner *>(*word);
    }
    /// Encodes an owner for the word at this address, and decodes it. An owner of another type is none here.
    static void *encoded(const void *owner, void *const *word) noexcept {
        const std::uint64_t type = reinterpret_cast<std::uintptr_t>(&owner_type<Owner>) * 0x9E3779B97F4A7C15U;
        return reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(owner) ^
                                        reinterpret_cast<std::uintptr_t>(word) ^ Secret::of_process() ^
                                        type >> 1U);
    }
    void claim(const void *address) noexcept {
        void **const word = Words::word_for(address);
        if constexpr (hardened)
            ::new (static_cast<void *>(word)) void *(encoded(owner_, word));
        else
            ::new (static_cast<void *>(word)) void *(owner_);
    }
    void cover(const void *data, std::size_t size) noexcept {
        if constexpr (hardened) {
            if (data == nullptr) return;
            owner_->returned.cover(data, size);
            all_.cover(data, size);
        }
    }
    static const std::byte *window_of_words(const void *data, std::size_t alignment) noexcept {
        return static_cast<const std::byte *>(data) + (detail::max(alignment, Window) - Window);
    }
    /// A reap puts in front of a large object as much as the object's alignment, or less than Window. Only
    /// one word is read later; the reap overwrites others.
    void *claim_large(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (data == nullptr) return nullptr;
        cover(data, size);
        if constexpr (hardened) recorded_windows<Window>.add(window_of_words(data, alignment));
        const std::size_t least = detail::max(alignment, Window) - Window;
        for (std::size_t lead = least; lead < least + Window; lead += Words::smallest)
            claim(static_cast<std::byte *>(data) + lead);
        return data;
    }
    /// Hardened mode: words are encoded with their own address. In memory that moved, the ownership words are
    /// written again; everything else is the object's.
    void claim_again(const void *before, void *data, std::size_t alignment) noexcept {
        const std::size_t least = detail::max(alignment, Window) - Window;
        for (std::size_t lead = least; lead < least + Window; lead += Words::smallest) {
            void **const word = Words::word_for(static_cast<const std::byte *>(data) + lead);
            void *const *const was = Words::word_for(static_cast<const std::byte *>(before) + lead);
            if (*word == encoded(owner_, was))
                ::new (static_cast<void *>(word)) void *(encoded(owner_, word));
        }
    }
    auto &chunk_source() noexcept {
        if constexpr (requires { owner_->chunks.get(); })
            return owner_->chunks.get();
        else
            return owner_->chunks;
    }

    static inline constinit SharedRange all_{}; // of all owners
    Owner *owner_;
};

struct NoMutex {
    void lock() const noexcept {}
    void unlock() const noexcept {}
};

/// A recursive mutex; std::recursive_mutex need not be constant-initialized.
class NestingMutex {
  public:
    constexpr NestingMutex() noexcept = default;
    void lock() {
        if (owner_.load(std::memory_order_relaxed) != &me_) {
            mutex_.lock();
            owner_.store(&me_, std::memory_order_relaxed);
        }
        ++depth_;
    }
    void unlock() {
        if (--depth_ > 0) return;
        owner_.store(nullptr, std::memory_order_relaxed);
        mutex_.unlock();
    }

  private:
    static inline thread_local char me_; // its address identifies the thread
    std::mutex mutex_;
    std::atomic<const char *> owner_{nullptr};
    unsigned depth_ = 0;
};

} // namespace detail

template <class Owner, std::size_t Window>
inline constexpr std::size_t window_of<detail::OwnedChunks<Owner, Window>> = Window;

/// A reap that belongs to one thread at a time, and whose objects any thread may free, without a lock.
///
/// Otherwise it is not thread-safe: only the thread that it belongs to may allocate, reset or query it. That
/// is the thread that made it, until it calls release(), and then the one that calls take_over(). It has
/// neither marks nor nested reaps, and runs no destructors. Memory that other threads free, including a large
/// object's pages, is reclaimed only when the owner runs out of room.
///
/// reset() and the destructor end all objects, as a reap's do: no thread may free one of them meanwhile, or
/// later. Use abandon() to end while other threads still have objects of this reap.
///
/// Costs in addition to a reap: two loads and a comparison for a free; for another thread's object, one
/// compare-and-swap. That the owner reclaims what others freed in one step is an idea of snmalloc and
/// mimalloc.
template <Source Upstream = CachedSuperblocks, std::size_t Granule = 8,
          std::size_t Window = window_of<Upstream> != 0 ? window_of<Upstream> : usual_window>
class OwnedReap : private detail::ReapOwner<ChunksOver<Upstream, Window>, Granule> {
    using Owner = detail::ReapOwner<ChunksOver<Upstream, Window>, Granule>;
    using Chunks = detail::OwnedChunks<Owner, Window>;
    using Inner = Reap<Chunks, Granule, Window>;

  public:
    struct End {
        void operator()(OwnedReap *reap) const noexcept { end(reap); }
    };
    /// A heap-allocated one. Its destructor is the reap's.
    using Handle = std::unique_ptr<OwnedReap, End>;

    explicit OwnedReap(const ReapOptions &options = {}) noexcept
        requires std::default_initializable<Upstream>
        : reap_(Chunks(*this), options) {
        begin();
    }
    explicit OwnedReap(Upstream source, const ReapOptions &options = {}) noexcept
        requires std::copy_constructible<Upstream>
        : Owner(source), reap_(Chunks(*this), options) {
        begin();
    }
    OwnedReap(const OwnedReap &) = delete;
    OwnedReap &operator=(const OwnedReap &) = delete;
    ~OwnedReap() {
        pool_.emptied();
        if constexpr (checked) leave();
    }

    /// As the constructors; throws std::bad_alloc.
    template <class... Arguments>
    [[nodiscard]] static Handle make(const Arguments &...arguments) {
        OwnedReap *const reap = try_make(arguments...);
        if (reap == nullptr) throw_bad_alloc();
        return Handle(reap);
    }
    /// The same, but returns null on failure.
    template <class... Arguments>
    [[nodiscard]] static OwnedReap *try_make(const Arguments &...arguments) noexcept {
        void *const data = CachedPages::try_allocate(sizeof(OwnedReap), alignof(OwnedReap));
        return data == nullptr ? nullptr : ::new (data) OwnedReap(arguments...);
    }

    /// Ends it when its last object is freed: now, if there is none. Any thread may free meanwhile. The
    /// memory of all of them is held until then.
    static void abandon(Handle handle) noexcept {
        OwnedReap *const reap = handle.release();
        if (reap != nullptr) leave_behind(reap);
    }

    /// Releases ownership. It belongs to no thread; objects can still be freed.
    void release() noexcept { this->thread.store(detail::ThreadSlot::idle, std::memory_order_release); }
    /// Takes over a reap that another thread released; what that thread did to it happens before. Returns
    /// false if it belongs to another thread.
    bool take_over() noexcept {
        const std::uint64_t mine = detail::ThreadHome::join_this_thread();
        std::uint64_t owner = detail::ThreadSlot::idle;
        return this->thread.compare_exchange_strong(owner, mine, std::memory_order_acquire,
                                                    std::memory_order_relaxed) ||
               owner == mine;
    }
    [[nodiscard]] bool is_mine() const noexcept {
        return this->thread.load(std::memory_order_relaxed) == detail::ThreadHome::this_thread();
    }

    /// As Reap's.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment = Granule) {
        const Lock lock(mutex_);
        void *object = nullptr;
        {
            const annotate::Quiet quiet;
            object = reap_.allocate(size, alignment);
        }
        return pool_.handed_out(object, size);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment = Granule) noexcept {
        const Lock lock(mutex_);
        void *object = nullptr;
        {
            const annotate::Quiet quiet;
            object = reap_.try_allocate(size, alignment);
        }
        return pool_.handed_out(object, size);
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size,
                                                   std::size_t alignment = Granule) noexcept {
        const Lock lock(mutex_);
        const Allocation got =
            annotate::quietly([=, this] { return reap_.try_allocate_at_least(size, alignment); });
        return {pool_.handed_out(got.data, got.size), got.size};
    }

    /// Frees an object of any OwnedReap of this type, in any thread; null is ignored.
    static void deallocate(void *object) noexcept {
        if constexpr (checked) return guarded_deallocate(object, guard::any_size);
        if (object == nullptr) return;
        if constexpr (hardened) {
            if (!has_owner(object)) return;
        }
        OwnedReap &reap = of(object);
        reap.pool_.came_back(object);
        const annotate::Quiet quiet;
        if (reap.is_mine()) [[likely]]
            return reap.free_here([object](Inner &inner) { inner.deallocate(object); }, object);
        reap.free_there(object);
    }
    /// Sized deallocation. As Reap's.
    static void deallocate(void *object, std::size_t size, std::size_t alignment = Granule) noexcept {
        if constexpr (checked) return guarded_deallocate(object, size + (size == 0));
        if (object == nullptr) return;
        if constexpr (hardened) {
            if (!has_owner(object)) return;
        }
        OwnedReap &reap = of(object);
        reap.pool_.came_back(object);
        const annotate::Quiet quiet;
        if (reap.is_mine()) [[likely]]
            return reap.free_here([=](Inner &inner) { inner.deallocate(object, size, alignment); }, object);
        reap.free_there(object);
    }

    /// As Reap's; the object may be another OwnedReap's, to which it then no longer belongs.
    [[nodiscard, gnu::returns_nonnull]] void *reallocate(void *object, std::size_t size,
                                                         std::size_t alignment = Granule) {
        return reallocate_as<Failure::throws>(object, size, alignment);
    }
    [[nodiscard]] void *try_reallocate(void *object, std::size_t size,
                                       std::size_t alignment = Granule) noexcept {
        return reallocate_as<Failure::returns_null>(object, size, alignment);
    }

    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept {
        return Inner::usable_size(object);
    }

    /// As Reap's.
    void reset(std::size_t keep = keep_all) noexcept {
        const Lock lock(mutex_);
        pool_.emptied();
        this->returned.take_all([](void * /*object*/) {}); // they end with all others
        reap_.reset(keep);
    }
    void trim(std::size_t keep = keep_none) noexcept {
        const Lock lock(mutex_);
        collect();
        reap_.trim(keep);
    }
    template <class Use>
    void for_each(Use use) {
        const Lock lock(mutex_);
        collect();
        reap_.for_each(use);
    }
    [[nodiscard]] bool owns(const void *address) const noexcept {
        const Lock lock(mutex_);
        return reap_.owns(address);
    }
    /// Other threads' frees are seen if they came before.
    [[nodiscard]] ReapStatistics statistics() noexcept {
        const Lock lock(mutex_);
        collect();
        return reap_.statistics();
    }
    [[nodiscard]] bool check() const noexcept {
        const Lock lock(mutex_);
        return reap_.check();
    }
    [[nodiscard]] const ReapOptions &options() const noexcept { return reap_.options(); }

  private:
    template <class Layer, class Make>
    friend class PerThread;

    static constexpr const char *name = "OwnedReap";
    // Checked mode frees at once, so that its reports are exact, and has one lock for all.
    using Mutex = std::conditional_t<checked, detail::NestingMutex, detail::NoMutex>;
    using Lock = std::scoped_lock<Mutex>;

    static OwnedReap &of(const void *object) noexcept {
        return static_cast<OwnedReap &>(Chunks::owner_of(object));
    }

    /// Hardened mode: whether it can be an object of any reap of this type; if not, that is reported.
    static bool has_owner(const void *object) noexcept {
        if (recorded_windows<Window>.has(static_cast<const std::byte *>(object) - 1) &&
            Chunks::has_owner(object)) [[likely]]
            return true;
        report_misuse({Misuse::foreign_free, object, 0, name});
        return false;
    }

    template <class Free>
    [[gnu::always_inline]] void free_here(Free free, [[maybe_unused]] void *object) noexcept {
        if constexpr (REAP_TSAN) annotate::ended(object, usable_size(object));
        free(reap_);
    }
    [[gnu::noinline]] void free_there(void *object) noexcept {
        if constexpr (REAP_TSAN) annotate::ended(object, usable_size(object));
        if (!this->returned.push(object)) [[unlikely]]
            free_behind(object);
    }
    [[gnu::noinline]] void free_behind(void *object) noexcept {
        const std::size_t size = usable_size(object);
        if constexpr (hardened) {
            if (!Inner::end_without_owner(object)) [[unlikely]]
                return report_misuse({Misuse::double_free, object, size, name});
        }
        if (this->returned.count(size)) end(this);
    }
    void collect() noexcept {
        const annotate::Quiet quiet; // their ends were reported when they were pushed
        this->returned.take_all([this](void *object) { reap_.deallocate(object); });
    }

    template <Failure F>
    void *reallocate_as(void *object, std::size_t size, std::size_t alignment) {
        if constexpr (REAP_MARK_POOLS) {
            if (object != nullptr && is_in_here(object) && resize_marked(object, size, alignment))
                return object;
        } else if (object == nullptr || is_in_here(object)) {
            const Lock lock(mutex_);
            if constexpr (F == Failure::throws) return reap_.reallocate(object, size, alignment);
            return reap_.try_reallocate(object, size, alignment);
        }
        void *moved = nullptr;
        if constexpr (F == Failure::throws)
            moved = allocate(size, alignment);
        else
            moved = try_allocate(size, alignment);
        if (moved == nullptr || (REAP_MARK_POOLS && object == nullptr)) return moved;
        if constexpr (checked) {
            const Lock lock(mutex_);
            if (holder_of(object) == nullptr) {
                report_misuse({Misuse::foreign_free, object, 0, name});
                return moved;
            }
        }
        std::memcpy(moved, object, detail::min(usable_size(object), size));
        deallocate(object);
        return moved;
    }
    /// Where pools are marked, a moved object is a new object, and reported as one: allocated, copied, freed.
    bool resize_marked(void *object, std::size_t size, std::size_t alignment) noexcept {
        if (!is_alignment(alignment) || padding_at(object, alignment) != 0) return false;
        if (!annotate::quietly([=, this] { return reap_.resize(object, size); })) return false;
        pool_.resized(object, size);
        return true;
    }
    [[nodiscard]] bool is_in_here(const void *object) const noexcept {
        if constexpr (checked) return owns(object);
        return &of(object) == this;
    }

    static void leave_behind(OwnedReap *reap) noexcept {
        reap->thread.store(detail::ThreadSlot::idle, std::memory_order_relaxed);
        if constexpr (checked) {
            const std::unique_lock lock(mutex_);
            reap->abandoned_ = true;
            if (reap->reap_.statistics().live > 0) return;
        } else {
            const annotate::Quiet quiet;
            reap->returned.close([reap](void *object) { reap->reap_.deallocate(object); });
            if (!reap->returned.leave(reap->reap_.statistics().live)) return;
        }
        end(reap);
    }
    /// Ends one that try_make() made.
    static void end(OwnedReap *reap) noexcept {
        reap->~OwnedReap();
        CachedPages::deallocate(reap, sizeof(OwnedReap), alignof(OwnedReap));
    }

    void begin() noexcept {
        this->thread.store(detail::ThreadHome::join_this_thread(), std::memory_order_relaxed);
        if constexpr (checked) {
            const Lock lock(mutex_);
            older_ = std::exchange(newest_, this);
        }
    }

    // Checked mode's list of all reaps of this type: no unknown address is followed.

    void leave() noexcept {
        const Lock lock(mutex_);
        OwnedReap **link = &newest_;
        while (*link != this) link = &(*link)->older_;
        *link = older_;
    }
    static OwnedReap *holder_of(const void *object) noexcept {
        OwnedReap *reap = newest_;
        while (reap != nullptr && !reap->reap_.owns(object)) reap = reap->older_;
        return reap;
    }
    static void guarded_deallocate(void *object, std::size_t size) noexcept {
        if (object == nullptr) return;
        OwnedReap *reap = nullptr;
        {
            const Lock lock(mutex_);
            reap = holder_of(object);
            if (reap == nullptr) return report_misuse({Misuse::foreign_free, object, 0, name});
            if (size == guard::any_size)
                reap->reap_.deallocate(object);
            else
                reap->reap_.deallocate(object, size);
            if (!reap->abandoned_ || reap->reap_.statistics().live > 0) return;
        }
        end(reap);
    }

    static inline constinit Mutex mutex_{};
    static inline constinit OwnedReap *newest_ = nullptr;
    OwnedReap *older_ = nullptr;
    bool abandoned_ = false;
    [[no_unique_address]] annotate::Pool<OwnedReap> pool_{name};
    alignas(64) Inner reap_; // others read what is before it
};

OwnedReap() -> OwnedReap<>;
OwnedReap(ReapOptions) -> OwnedReap<>;
template <class S>
OwnedReap(S &) -> OwnedReap<Shared<S>>;
template <class S>
OwnedReap(S &, ReapOptions) -> OwnedReap<Shared<S>>;

} // namespace reap::inline REAP_MODE
