#include "reap/face/c/size_classes.h"

#include "face.h"
#include "reap/face/json.h"
#include "reap/layer/size_class_allocator.h"

namespace c = reap::c;

struct reap_size_classes : c::Held<reap::SizeClassAllocator<c::CSource>> {
    using Held::Held;
};

reap_size_classes *reap_size_classes_create(const reap_size_classes_options *options) {
    reap_size_classes_options known = REAP_SIZE_CLASSES_OPTIONS_INIT;
    if (!c::read_options(options, known) || !c::is_whole(known.source)) return c::refuse(EINVAL);
    const reap::FixedBlockOptions translated{.first_chunk = known.first_chunk,
                                             .growth = known.growth,
                                             .largest_chunk = known.largest_chunk,
                                             .limit = known.limit};
    return c::make<reap_size_classes>(c::CSource(known.source), translated);
}

void reap_size_classes_destroy(reap_size_classes *classes) { c::end(classes); }

void *reap_size_classes_allocate(reap_size_classes *classes, size_t size, size_t *class_size) {
    if (class_size == nullptr) return c::answer(classes->layer.try_allocate(size));
    const reap::Allocation got = classes->layer.try_allocate_at_least(size);
    if (got.data != nullptr) *class_size = got.size;
    return c::answer(got.data);
}

void reap_size_classes_deallocate(reap_size_classes *classes, void *object, size_t size) {
    if (object != nullptr) classes->layer.deallocate(object, size);
}

void reap_size_classes_reset(reap_size_classes *classes, size_t keep) { classes->layer.reset(keep); }

bool reap_size_classes_owns(const reap_size_classes *classes, const void *address) {
    return classes->layer.owns(address);
}

void reap_size_classes_get_statistics(const reap_size_classes *classes,
                                      reap_size_classes_statistics *statistics) {
    const auto found = classes->layer.statistics();
    c::write_figures({sizeof(reap_size_classes_statistics), found.held, found.live}, statistics);
}

size_t reap_size_classes_statistics_json(const reap_size_classes *classes, char *buffer, size_t size) {
    return reap::to_json(classes->layer.statistics(), buffer, size);
}
