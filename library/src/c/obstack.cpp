#include "reap/face/c/obstack.h"

#include "face.h"
#include "reap/face/json.h"
#include "reap/layer/obstack.h"

namespace c = reap::c;

struct reap_obstack : c::Held<reap::Obstack<c::CSource>> {
    using Held::Held;
};

reap_obstack *reap_obstack_create(const reap_obstack_options *options) {
    reap_obstack_options known = REAP_OBSTACK_OPTIONS_INIT;
    if (!c::read_options(options, known) || !c::is_whole(known.source)) return c::refuse(EINVAL);
    const reap::ObstackOptions translated{.first_chunk = known.first_chunk,
                                          .growth = known.growth,
                                          .largest_chunk = known.largest_chunk,
                                          .limit = known.limit};
    return c::make<reap_obstack>(c::CSource(known.source), translated);
}

void reap_obstack_destroy(reap_obstack *obstack) { c::end(obstack); }

void *reap_obstack_allocate(reap_obstack *obstack, size_t size) {
    return c::answer(obstack->layer.try_allocate(size));
}

void *reap_obstack_allocate_aligned(reap_obstack *obstack, size_t size, size_t alignment) {
    return c::answer(obstack->layer.try_allocate(size, alignment), alignment);
}

bool reap_obstack_free_from(reap_obstack *obstack, void *object) {
    return c::accept(obstack->layer.free_from(object));
}

bool reap_obstack_grow(reap_obstack *obstack, const void *data, size_t size) {
    const bool grown =
        data == nullptr ? obstack->layer.try_blank(size) != nullptr : obstack->layer.try_grow(data, size);
    if (!grown) errno = ENOMEM;
    return grown;
}

void *reap_obstack_base(const reap_obstack *obstack) { return obstack->layer.base(); }

size_t reap_obstack_growing(const reap_obstack *obstack) { return obstack->layer.growing(); }

void *reap_obstack_finish(reap_obstack *obstack) {
    // An object grows, so finish() allocates nothing and cannot fail.
    return obstack->layer.base() == nullptr ? c::refuse(EINVAL) : obstack->layer.finish();
}

void reap_obstack_drop(reap_obstack *obstack) { obstack->layer.drop(); }

void reap_obstack_reset(reap_obstack *obstack, size_t keep) { obstack->layer.reset(keep); }

bool reap_obstack_owns(const reap_obstack *obstack, const void *address) {
    return obstack->layer.owns(address);
}

void reap_obstack_get_statistics(const reap_obstack *obstack, reap_obstack_statistics *statistics) {
    const auto found = obstack->layer.statistics();
    c::write_figures({sizeof(reap_obstack_statistics), found.held, found.used, found.spare, found.chunks},
                     statistics);
}

size_t reap_obstack_statistics_json(const reap_obstack *obstack, char *buffer, size_t size) {
    return reap::to_json(obstack->layer.statistics(), buffer, size);
}
