#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/failure.h"
#include "reap/core/keep.h"
#include "reap/core/source.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/size_class_allocator.h"
#include "reap/layer/thread/remote_free.h"
#include "reap/layer/thread/thread_home.h"
#include "reap/source/cached_pages.h"

namespace reap::inline REAP_MODE {

namespace detail {
template <class Layer>
struct MakeLayer {
    Layer operator()() const { return Layer(); }
};
} // namespace detail

enum class Sizes;
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
class Reap;

/// A layer per thread, so that no thread waits for another.
///
/// An object is freed by the thread that allocated it; FixedBlock and SizeClassAllocator, below, let any
/// thread free it. When a thread ends its layer stays as it is, objects included, and passes to the next new
/// thread: reset it before, if it must be empty. At most as many layers are made as there were threads at one
/// time. The source of a layer must be thread-safe or separate for each.
///
/// No thread may use it while it is destroyed, nor during each() and statistics(); threads that used it
/// before may live on, or end meanwhile. Neither copied nor moved. Costs some ten instructions in addition to
/// the layer's.
template <class Layer, class Make = detail::MakeLayer<Layer>>
class PerThread : private detail::ThreadHome {
  public:
    /// Each layer is what make() returns, which several threads may call at once. The first is made here, so
    /// exceptions of make() propagate from here.
    explicit PerThread(Make make = {}) : make_(std::move(make)) {
        detail::ThreadSlot *const slot = make_slot();
        if (slot == nullptr) throw_bad_alloc();
        add(slot);
    }
    PerThread(const PerThread &) = delete;
    PerThread &operator=(const PerThread &) = delete;
    ~PerThread() {
        leave();
        for (detail::ThreadSlot *slot = slots(); slot != nullptr;) {
            auto *const mine = static_cast<Slot *>(slot);
            slot = slot->next;
            mine->~Slot();
            CachedPages::deallocate(mine, sizeof(Slot), alignof(Slot));
        }
    }

    /// This thread's layer. Throws what make() throws, otherwise std::bad_alloc.
    [[nodiscard]] Layer &local() {
        Layer *const layer = find_local([this] { return make_slot(); });
        if (layer == nullptr) [[unlikely]]
            throw_bad_alloc();
        return *layer;
    }
    /// The same, but returns null on failure.
    [[nodiscard]] Layer *try_local() noexcept {
        return find_local([this] { return null_if_thrown([this] { return make_slot(); }); });
    }

    template <class... Arguments>
    [[nodiscard]] auto allocate(Arguments... arguments) {
        return local().allocate(arguments...);
    }
    template <class... Arguments>
    [[nodiscard]] auto try_allocate(Arguments... arguments) noexcept {
        Layer *const layer = try_local();
        return layer == nullptr ? nullptr : layer->try_allocate(arguments...);
    }
    /// Frees what this thread allocated.
    template <class Object, class... Arguments>
    void deallocate(Object *object, Arguments... arguments) noexcept {
        if (Layer *const layer = try_local(); layer != nullptr) layer->deallocate(object, arguments...);
    }

    /// Calls visit(layer) for each layer, idle ones included.
    template <class Visit>
    void each(Visit visit) {
        for (detail::ThreadSlot *slot = slots(); slot != nullptr; slot = slot->next)
            visit(static_cast<Slot *>(slot)->layer);
    }

  private:
    struct Slot : detail::ThreadSlot {
        explicit Slot(const Make &make) : layer(make()) {}
        Layer layer;
    };
    template <class MakeSlot>
    [[nodiscard]] Layer *find_local(MakeSlot make_mine) {
        detail::ThreadSlot *slot = remembered();
        if (slot == nullptr) [[unlikely]]
            slot = find(make_mine);
        return slot == nullptr ? nullptr : &static_cast<Slot *>(slot)->layer;
    }
    Slot *make_slot() const {
        void *const data = CachedPages::try_allocate(sizeof(Slot), alignof(Slot));
        if (data == nullptr) return nullptr;
        Unfinished memory{data};
        auto *const slot = ::new (data) Slot(make_);
        memory.data = nullptr;
        return slot;
    }
    struct Unfinished {
        void *data;
        ~Unfinished() {
            if (data != nullptr) CachedPages::deallocate(data, sizeof(Slot), alignof(Slot));
        }
    };

    [[no_unique_address]] Make make_;
};

template <class Make>
PerThread(Make) -> PerThread<std::invoke_result_t<Make>, Make>;

/// In layer/per_thread_reap.h.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
class PerThread<Reap<Upstream, Granule, Window, S>, detail::MakeLayer<Reap<Upstream, Granule, Window, S>>>;

/// Blocks of one size for many threads: each allocates from a FixedBlock of its own, and any may free.
///
/// A block that another thread allocated is pushed on a lock-free stack of that thread, which takes them all
/// at once when its own blocks are used up. Otherwise as PerThread of other layers. Costs some ten
/// instructions more to allocate and to free than without threads.
template <Source Upstream>
class PerThread<FixedBlock<Upstream>, detail::MakeLayer<FixedBlock<Upstream>>>
    : private detail::PerThreadPools<Upstream, 1> {
    using Pools = detail::PerThreadPools<Upstream, 1>;

  public:
    /// As the constructors of FixedBlock.
    explicit PerThread(std::size_t block_size = 64, const FixedBlockOptions &options = {})
        requires std::default_initializable<Upstream>
        : PerThread(Upstream(), block_size, natural_alignment(block_size), options) {}
    PerThread(std::size_t block_size, std::size_t alignment, const FixedBlockOptions &options = {})
        requires std::default_initializable<Upstream>
        : PerThread(Upstream(), block_size, alignment, options) {}
    explicit PerThread(Upstream source, std::size_t block_size = 64, const FixedBlockOptions &options = {})
        : PerThread(source, block_size, natural_alignment(block_size), options) {}
    PerThread(Upstream source, std::size_t block_size, std::size_t alignment,
              const FixedBlockOptions &options = {})
        : Pools(source, {{{block_size, alignment}}}, options) {}

    /// A block; throws what the source throws, otherwise std::bad_alloc.
    [[nodiscard, gnu::returns_nonnull]] void *allocate() {
        return Pools::template allocate<Failure::throws>(0, Pools::shape(0).size);
    }
    /// The same, but returns null on failure.
    [[nodiscard]] void *try_allocate() noexcept {
        return Pools::template allocate<Failure::returns_null>(0, Pools::shape(0).size);
    }
    /// Frees a block, in any thread.
    void deallocate(void *block) noexcept { Pools::deallocate(0, block, guard::any_size); }

    /// As the Source concept has it.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment) {
        if (!fits(size, alignment)) [[unlikely]]
            throw_bad_alloc();
        return Pools::template allocate<Failure::throws>(0, size);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (!fits(size, alignment)) [[unlikely]]
            return nullptr;
        return Pools::template allocate<Failure::returns_null>(0, size);
    }
    void deallocate(void *block, std::size_t size, std::size_t /*alignment*/) noexcept {
        Pools::deallocate(0, block, size);
    }

    [[nodiscard]] std::size_t block_size() const noexcept { return Pools::shape(0).size; }
    using Pools::owns;
    using Pools::reset;
    using Pools::statistics;

  private:
    [[nodiscard]] bool fits(std::size_t size, std::size_t alignment) const noexcept {
        return size <= block_size() && is_alignment(alignment) && alignment <= Pools::shape(0).alignment;
    }
};

/// Small objects of a few sizes for many threads: the same for each class.
template <Source Upstream, std::size_t... List>
class PerThread<SizeClassAllocator<Upstream, List...>,
                detail::MakeLayer<SizeClassAllocator<Upstream, List...>>>
    : private detail::PerThreadPools<Upstream, SizeClassAllocator<Upstream, List...>::Classes::count> {
    using Pools = detail::PerThreadPools<Upstream, SizeClassAllocator<Upstream, List...>::Classes::count>;

  public:
    using Classes = typename SizeClassAllocator<Upstream, List...>::Classes;
    static constexpr std::size_t largest_class = Classes::largest;

    explicit PerThread(const FixedBlockOptions &options = {})
        requires std::default_initializable<Upstream>
        : PerThread(Upstream(), options) {}
    explicit PerThread(Upstream source, const FixedBlockOptions &options = {})
        : Pools(source, shapes(), options) {}

    /// As SizeClassAllocator's.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment = 8) {
        const std::size_t number = Classes::find(size, alignment);
        if (number == Classes::count) [[unlikely]]
            throw_bad_alloc();
        return Pools::template allocate<Failure::throws>(number, size);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment = 8) noexcept {
        const std::size_t number = Classes::find(size, alignment);
        if (number == Classes::count) [[unlikely]]
            return nullptr;
        return Pools::template allocate<Failure::returns_null>(number, size);
    }
    [[nodiscard]] Allocation allocate_at_least(std::size_t size, std::size_t alignment = 8) {
        const std::size_t number = Classes::find(size, alignment);
        if (number == Classes::count) [[unlikely]]
            throw_bad_alloc();
        const std::size_t whole = Classes::sizes[number];
        return {Pools::template allocate<Failure::throws>(number, whole), whole};
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment = 8) noexcept {
        const std::size_t number = Classes::find(size, alignment);
        if (number == Classes::count) [[unlikely]]
            return {};
        const std::size_t whole = Classes::sizes[number];
        return {Pools::template allocate<Failure::returns_null>(number, whole), whole};
    }
    /// Frees an object, in any thread.
    void deallocate(void *object, std::size_t size, std::size_t alignment = 8) noexcept {
        Pools::deallocate(Classes::find(size, alignment), object, size);
    }

    using Pools::owns;
    using Pools::reset;
    using Pools::statistics;

  private:
    static constexpr std::array<detail::BlockShape, Classes::count> shapes() noexcept {
        std::array<detail::BlockShape, Classes::count> all{};
        for (std::size_t number = 0; number < all.size(); ++number)
            all[number] = {Classes::sizes[number], Classes::alignment_of(Classes::sizes[number])};
        return all;
    }
};

} // namespace reap::inline REAP_MODE
