#include "reap/face/c/fixed_block.h"

#include "face.h"
#include "reap/face/json.h"
#include "reap/layer/fixed_block.h"

namespace c = reap::c;

struct reap_fixed_block : c::Held<reap::FixedBlock<c::CSource>> {
    using Held::Held;
};

reap_fixed_block *reap_fixed_block_create(const reap_fixed_block_options *options) {
    reap_fixed_block_options known = REAP_FIXED_BLOCK_OPTIONS_INIT;
    if (!c::read_options(options, known) || !c::is_whole(known.source)) return c::refuse(EINVAL);
    if (known.alignment == 0) known.alignment = reap::natural_alignment(known.block_size);
    const reap::FixedBlockOptions translated{.first_chunk = known.first_chunk,
                                             .growth = known.growth,
                                             .largest_chunk = known.largest_chunk,
                                             .limit = known.limit};
    return c::make<reap_fixed_block>(c::CSource(known.source), known.block_size, known.alignment, translated);
}

void reap_fixed_block_destroy(reap_fixed_block *pool) { c::end(pool); }

void *reap_fixed_block_allocate(reap_fixed_block *pool) { return c::answer(pool->layer.try_allocate()); }

void reap_fixed_block_deallocate(reap_fixed_block *pool, void *block) { pool->layer.deallocate(block); }

void reap_fixed_block_reset(reap_fixed_block *pool, size_t keep) { pool->layer.reset(keep); }

bool reap_fixed_block_owns(const reap_fixed_block *pool, const void *address) {
    return pool->layer.owns(address);
}

void reap_fixed_block_get_statistics(const reap_fixed_block *pool, reap_fixed_block_statistics *statistics) {
    const auto found = pool->layer.statistics();
    c::write_figures({sizeof(reap_fixed_block_statistics), found.held, found.spare, found.chunks, found.live},
                     statistics);
}

size_t reap_fixed_block_statistics_json(const reap_fixed_block *pool, char *buffer, size_t size) {
    return reap::to_json(pool->layer.statistics(), buffer, size);
}
