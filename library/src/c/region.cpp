#include "reap/face/c/region.h"

#include <bit>

#include "face.h"
#include "reap/face/json.h"
#include "reap/layer/region.h"

namespace c = reap::c;
using Region = reap::Region<c::CSource>;

struct reap_region {
    reap_region(const c::CSource &source, const reap::RegionOptions &options, bool is_nested) noexcept
        : region(source, options), nested(is_nested) {}

    Region region;
    bool nested;
};

namespace {

reap::RegionOptions translate(const reap_region_options &options) noexcept {
    return {.first_chunk = options.first_chunk,
            .growth = options.growth,
            .largest_chunk = options.largest_chunk,
            .large_object = options.large_object,
            .limit = options.limit};
}

} // namespace

reap_region *reap_region_create(const reap_region_options *options) {
    reap_region_options known = REAP_REGION_OPTIONS_INIT;
    if (!c::read_options(options, known) || !c::is_whole(known.source)) return c::refuse(EINVAL);
    return c::make<reap_region>(c::CSource(known.source), translate(known), false);
}

void reap_region_destroy(reap_region *region) {
    if (region != nullptr && region->nested) return region->region.reset(reap::keep_none);
    c::end(region);
}

reap_region *reap_region_nest(reap_region *parent, const reap_region_options *options) {
    reap_region_options known = REAP_REGION_OPTIONS_INIT;
    if (!c::read_options(options, known) || known.source != nullptr) return c::refuse(EINVAL);
    return c::without_exceptions([&]() -> reap_region * {
        return parent->region.create<reap_region>(parent->region.source(), translate(known), true);
    });
}

void *reap_region_allocate(reap_region *region, size_t size) {
    return c::answer(region->region.try_allocate(size));
}

void *reap_region_allocate_aligned(reap_region *region, size_t size, size_t alignment) {
    return c::answer(region->region.try_allocate(size, alignment), alignment);
}

void reap_region_deallocate(reap_region *region, void *object, size_t size) {
    region->region.deallocate(object, size);
}

bool reap_region_resize(reap_region *region, void *object, size_t old_size, size_t new_size) {
    return region->region.resize(object, old_size, new_size);
}

bool reap_region_at_end(reap_region *region, void (*run)(void *argument), void *argument) {
    return c::without_exceptions([&] { return region->region.create<c::AtEnd>(run, argument) != nullptr; });
}

bool reap_region_mark(reap_region *region, reap_mark *mark) {
    return c::without_exceptions([&] {
        *mark = std::bit_cast<reap_mark>(region->region.mark());
        return true;
    });
}

bool reap_region_rewind(reap_region *region, reap_mark mark) {
    return c::accept(region->region.rewind(std::bit_cast<Region::Mark>(mark)));
}

void reap_region_reset(reap_region *region, size_t keep) { region->region.reset(keep); }

bool reap_region_splice(reap_region *region, reap_region *other) {
    const bool same = region->region.source() == other->region.source();
    if (same) region->region.splice(other->region);
    return c::accept(same);
}

bool reap_region_owns(const reap_region *region, const void *address) { return region->region.owns(address); }

void reap_region_get_statistics(const reap_region *region, reap_region_statistics *statistics) {
    const auto found = region->region.statistics();
    c::write_figures({sizeof(reap_region_statistics), found.held, found.used, found.spare, found.chunks,
                      found.large_objects},
                     statistics);
}

size_t reap_region_statistics_json(const reap_region *region, char *buffer, size_t size) {
    return reap::to_json(region->region.statistics(), buffer, size);
}
