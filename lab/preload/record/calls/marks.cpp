// The recorder's mark listener (reap/mark.h): counts what each request allocates, as the difference of its
// thread's counters between its beginning and its end.
#include "reap/mark.h"

#include "output/request_blocks.h"
#include "slow_path.h"

using namespace reap::preload;

namespace {

// A thread whose destructors have run records single calls only (see Permit), and has no requests.
bool listens(ThreadState &thread) noexcept { return thread.phase != Phase::Ended && ready(thread); }

void request_begin() {
    ThreadState &thread = thread_state;
    if (!listens(thread)) return;
    RequestState &request = thread.request;
    if (request.depth++ != 0) return;
    if (unlikely(request.block == nullptr || request.phase != image.phase())) image.change_phase(thread);
    request.allocations = thread.allocations;
    request.bytes = thread.bytes();
}

void request_end() {
    ThreadState &thread = thread_state;
    if (!listens(thread)) return;
    RequestState &request = thread.request;
    if (request.depth == 0) return;
    --request.depth;
    if (request.depth != 0 || request.block == nullptr) return;
    const uint64_t allocations = thread.allocations - request.allocations;
    const uint64_t bytes = thread.bytes() - request.bytes;
    reap_requests &counts = RequestBlocks::counts(request.block);
    ++counts.count;
    counts.allocations += allocations;
    counts.bytes += bytes;
    if (allocations > counts.most_allocations) counts.most_allocations = allocations;
    if (bytes > counts.most_bytes) counts.most_bytes = bytes;
    ++counts.by_allocations[reap::format::request_bin(allocations)];
    ++counts.by_bytes[reap::format::request_bin(bytes)];
}

void phase(const char *name) {
    ThreadState &thread = thread_state;
    if (!listens(thread) && !image.is_part()) return;
    image.set_phase(name);
    image.reach_phase(thread, name);
}

void pool_create(const void * /*pool*/, const char * /*name*/) {}
void pool_alloc(const void * /*pool*/, const void * /*object*/, size_t /*size*/) {}
void pool_free(const void * /*pool*/, const void * /*object*/) {}
void pool_clear(const void * /*pool*/) {}
void pool_destroy(const void * /*pool*/) {}
void pool_rewind(const void * /*pool*/, const void * /*object*/) {}
void pool_merge(const void * /*into*/, const void * /*from*/) {}

} // namespace

// Looked up by mark.h.
extern "C" __attribute__((visibility("default"))) const reap_mark_listener reap_mark_listener_1;
const reap_mark_listener reap_mark_listener_1 = {request_begin, request_end, phase,      pool_create,
                                                 pool_alloc,    pool_free,   pool_clear, pool_destroy,
                                                 pool_rewind,   pool_merge};
