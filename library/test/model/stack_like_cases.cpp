#include "reap/layer/stack_like.h"

#include <cstddef>

#include "cases.h"

namespace reap::test {

void add_stack_like_cases(Cases &cases) {
    cases.push_back(over_upstream<StackLike<Below>>("StackLike", {}, true,
                                                    StackLikeOptions{.size = std::size_t{1} << 20}));
    cases.push_back(
        over_upstream<StackLike<Below>>("StackLike/small", {}, true, StackLikeOptions{.size = 5000}));
    cases.push_back(over_upstream<StackLike<Below>>("StackLike/grows", {}, false,
                                                    StackLikeOptions{.size = 1000, .grows = true}));
}

} // namespace reap::test
