// Concern: the main heap is where the kernel has it.
#include "own_memory.h"

#include <gtest/gtest.h>

#include "walked_memory.h"

namespace {

TEST(OwnMemory, TheBreakIsBehindItsBegin) {
    EXPECT_GE(reap::glibc::current_break(), reap::preload::initial_break());
    EXPECT_GT(reap::preload::initial_break(), 0u);
}

} // namespace
