#include "reap/face/c/reap.h"

#include <bit>
#include <cstddef>

#include "face.h"
#include "reap/face/json.h"
#include "reap/layer/reap.h"
#include "reap/source/cached_superblocks.h"
#include "reap/source/superblocks.h"

namespace reap::inline REAP_MODE::c {

/// Superblocks out of the caller's source, or the process's.
class CSuperblocks {
  public:
    static constexpr bool copies_are_equal = true;
    static constexpr std::size_t window = usual_window;
    using Own = Superblocks<CSource, window>;

    /// Null: the process's.
    explicit CSuperblocks(Own *own) noexcept : own_(own) {}

    template <Failure F>
    [[nodiscard]] Allocation obtain_chunk(std::size_t least, std::size_t wanted) const {
        if (own_ == nullptr) return CachedSuperblocks::obtain_chunk<F>(least, wanted);
        return own_->obtain_chunk<F>(least, wanted);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) const noexcept {
        if (own_ == nullptr) return CachedSuperblocks::try_allocate(size, alignment);
        return own_->try_allocate(size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) const noexcept {
        if (own_ == nullptr) return CachedSuperblocks::deallocate(data, size, alignment);
        own_->deallocate(data, size, alignment);
    }
    friend bool operator==(CSuperblocks, CSuperblocks) noexcept = default;

  private:
    Own *own_;
};

} // namespace reap::inline REAP_MODE::c

template <>
inline constexpr std::size_t reap::window_of<reap::c::CSuperblocks> = reap::c::CSuperblocks::window;

namespace c = reap::c;
// Aligned as malloc is.
using Reap = reap::Reap<c::CSuperblocks, 16>;

struct reap_reap {
    reap_reap(c::CSuperblocks superblocks, const reap::ReapOptions &options, reap_reap *parent_reap) noexcept
        : reap(superblocks, options), parent(parent_reap) {}

    Reap reap;
    reap_reap *parent; // null: none
};

namespace {

/// A top-level reap, and the state shared by all reaps nested in it: made before it, ended after it.
struct Outermost : c::Held<c::CSuperblocks::Own>, reap_reap {
    Outermost(const reap_source *source, const reap::ReapOptions &options) noexcept
        : Held(c::CSource(source)),
          reap_reap(c::CSuperblocks(source == nullptr ? nullptr : &layer), options, nullptr) {}
};

reap::ReapOptions translate(const reap_reap_options &options) noexcept {
    return {.first_chunk = options.first_chunk,
            .growth = options.growth,
            .largest_chunk = options.largest_chunk,
            .large_object = options.large_object,
            .limit = options.limit};
}

} // namespace

reap_reap *reap_reap_create(const reap_reap_options *options) {
    reap_reap_options known = REAP_REAP_OPTIONS_INIT;
    if (!c::read_options(options, known) || !c::is_whole(known.source)) return c::refuse(EINVAL);
    return c::make<Outermost>(known.source, translate(known));
}

void reap_reap_destroy(reap_reap *reap) {
    if (reap != nullptr && reap->parent != nullptr) return reap->parent->reap.destroy(reap);
    c::end(static_cast<Outermost *>(reap));
}

reap_reap *reap_reap_nest(reap_reap *parent, const reap_reap_options *options) {
    reap_reap_options known = REAP_REAP_OPTIONS_INIT;
    if (!c::read_options(options, known) || known.source != nullptr) return c::refuse(EINVAL);
    return c::without_exceptions([&]() -> reap_reap * {
        return parent->reap.create<reap_reap>(parent->reap.source(), translate(known), parent);
    });
}

void *reap_reap_allocate(reap_reap *reap, size_t size) { return c::answer(reap->reap.try_allocate(size)); }

void *reap_reap_allocate_aligned(reap_reap *reap, size_t size, size_t alignment) {
    return c::answer(reap->reap.try_allocate(size, alignment), alignment);
}

void reap_reap_deallocate(reap_reap *reap, void *object) { reap->reap.deallocate(object); }

void reap_reap_deallocate_sized(reap_reap *reap, void *object, size_t size) {
    reap->reap.deallocate(object, size);
}

void *reap_reap_reallocate(reap_reap *reap, void *object, size_t size) {
    return c::answer(reap->reap.try_reallocate(object, size));
}

bool reap_reap_resize(reap_reap *reap, void *object, size_t size) { return reap->reap.resize(object, size); }

size_t reap_reap_usable_size(const reap_reap * /*reap*/, const void *object) {
    return object == nullptr ? 0 : Reap::usable_size(object);
}

bool reap_reap_at_end(reap_reap *reap, void (*run)(void *argument), void *argument) {
    return c::without_exceptions([&] { return reap->reap.create<c::AtEnd>(run, argument) != nullptr; });
}

bool reap_reap_mark(reap_reap *reap, reap_mark *mark) {
    return c::without_exceptions([&] {
        *mark = std::bit_cast<reap_mark>(reap->reap.mark());
        return true;
    });
}

bool reap_reap_rewind(reap_reap *reap, reap_mark mark) {
    return c::accept(reap->reap.rewind(std::bit_cast<Reap::Mark>(mark)));
}

void reap_reap_reset(reap_reap *reap, size_t keep) { reap->reap.reset(keep); }

void reap_reap_trim(reap_reap *reap, size_t keep) { reap->reap.trim(keep); }

bool reap_reap_each(reap_reap *reap, bool (*visit)(void *object, size_t usable, void *argument),
                    void *argument) {
    bool going_on = true;
    reap->reap.for_each([&](void *object, std::size_t usable) noexcept {
        going_on = going_on && visit(object, usable, argument);
    });
    return going_on;
}

bool reap_reap_owns(const reap_reap *reap, const void *address) { return reap->reap.owns(address); }

bool reap_reap_check(const reap_reap *reap) { return reap->reap.check(); }

void reap_reap_get_statistics(const reap_reap *reap, reap_reap_statistics *statistics) {
    const auto found = reap->reap.statistics();
    c::write_figures({sizeof(reap_reap_statistics), found.held, found.live, found.free, found.largest_hole,
                      found.spare, found.chunks, found.large_objects},
                     statistics);
}

size_t reap_reap_statistics_json(const reap_reap *reap, char *buffer, size_t size) {
    return reap::to_json(reap->reap.statistics(), buffer, size);
}
