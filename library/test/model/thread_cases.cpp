#include <cstddef>

#include "cases.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/locked.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/per_thread_reap.h"
#include "reap/layer/region.h"
#include "reap/layer/size_class_allocator.h"
#include "reap/testkit/subject.h"

// The policies for threads, in one thread here: that they pass on what they stand on. What several threads do
// to each other is in layer/threads_test.cpp and layer/reap/per_thread_reap_test.cpp.

namespace reap::test {

void add_thread_cases(Cases &cases) {
    cases.push_back(over_upstream<Locked<Region<Below>>>("Locked-Region", {}, false));
    cases.push_back(over_upstream<Locked<SizeClassAllocator<Below>>>(
        "Locked-SizeClassAllocator", {.largest = 256, .largest_alignment = 64}, false));
    cases.push_back(over_upstream<PerThread<FixedBlock<Below>>>(
        "PerThread-FixedBlock", {.largest = 64, .largest_alignment = 16}, false, std::size_t{64}));
    cases.push_back(over_upstream<PerThread<SizeClassAllocator<Below>>>(
        "PerThread-SizeClassAllocator", {.largest = 256, .largest_alignment = 64}, false));
    // In superblocks as small as can be: there are more of them then.
    cases.push_back(
        over_upstream<PerThread<Reap<Below, 8, (std::size_t{128} << 10U)>>>("PerThread-Reap", {}, false));
}

} // namespace reap::test
