#include "reap/face/c/stack.h"

#include "face.h"
#include "reap/face/json.h"
#include "reap/layer/stack_like.h"

namespace c = reap::c;

struct reap_stack : c::Held<reap::StackLike<c::CSource>> {
    using Held::Held;
};

reap_stack *reap_stack_create(const reap_stack_options *options) {
    reap_stack_options known = REAP_STACK_OPTIONS_INIT;
    if (!c::read_options(options, known) || !c::is_whole(known.source)) return c::refuse(EINVAL);
    const reap::StackLikeOptions translated{.size = known.memory, .grows = known.grows};
    return c::make<reap_stack>(c::CSource(known.source), translated);
}

void reap_stack_destroy(reap_stack *stack) { c::end(stack); }

void *reap_stack_allocate(reap_stack *stack, size_t size) {
    return c::answer(stack->layer.try_allocate(size));
}

void *reap_stack_allocate_aligned(reap_stack *stack, size_t size, size_t alignment) {
    return c::answer(stack->layer.try_allocate(size, alignment), alignment);
}

void reap_stack_deallocate(reap_stack *stack, void *object) { stack->layer.deallocate(object); }

void reap_stack_reset(reap_stack *stack) { stack->layer.reset(); }

bool reap_stack_owns(const reap_stack *stack, const void *address) { return stack->layer.owns(address); }

void reap_stack_get_statistics(const reap_stack *stack, reap_stack_statistics *statistics) {
    const auto found = stack->layer.statistics();
    c::write_figures({sizeof(reap_stack_statistics), found.held, found.used, found.pieces}, statistics);
}

size_t reap_stack_statistics_json(const reap_stack *stack, char *buffer, size_t size) {
    return reap::to_json(stack->layer.statistics(), buffer, size);
}
