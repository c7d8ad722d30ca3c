// What depends on a mode comes first here, and must make no difference: one handler serves all parts of a
// program.
#include "reap/source/limit.h"
//
#include "reap/core/misuse.h"

#include <gtest/gtest.h>

const void *misuse_handler_of_guard_test(); // which includes core/misuse.h first

namespace {

TEST(Misuse, HasOneHandlerWhateverWasIncludedBefore) {
    EXPECT_EQ(&reap::process::misuse_handler, misuse_handler_of_guard_test());
}

} // namespace
