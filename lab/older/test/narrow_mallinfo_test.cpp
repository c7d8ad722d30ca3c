// Concern: before glibc 2.33 the statistics are the same, or unknown, and never wrong.
#include "narrow_mallinfo.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "reap_resident.h"

namespace {

using namespace reap::preload;

constexpr uint64_t limit = uint64_t{1} << 32;

struct mallinfo narrow() {
    return reinterpret_cast<struct mallinfo (*)()>(dlsym(RTLD_DEFAULT, "mallinfo"))();
}

TEST(NarrowMallinfo, IsWhatMallinfo2Says) {
    void *const block = malloc(100'000);
    const struct mallinfo2 wide = mallinfo2();
    const struct mallinfo2 widened = widen(narrow(), writable_bytes());
    EXPECT_EQ(widened.arena, wide.arena);
    EXPECT_EQ(widened.hblkhd, wide.hblkhd);
    EXPECT_EQ(widened.uordblks, wide.uordblks);
    EXPECT_EQ(widened.fordblks, wide.fordblks);
    EXPECT_EQ(widened.keepcost, wide.keepcost);
    free(block);
}

TEST(NarrowMallinfo, AFieldOfMoreThan2GiBIsNotNegative) {
    struct mallinfo info{};
    info.uordblks = -1;
    EXPECT_EQ(widen(info, limit - 1).uordblks, UINT32_MAX);
}

TEST(NarrowMallinfo, WhatMayHaveWrappedIsUnknown) {
    EXPECT_EQ(widen(narrow(), limit).uordblks, REAP_RESIDENT_UNKNOWN);
}

TEST(NarrowMallinfo, WritableMemoryHasTheHeap) {
    constexpr size_t size = size_t{64} << 20;
    const uint64_t before = writable_bytes();
    void *const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    EXPECT_GE(writable_bytes(), before + size);
    munmap(memory, size);
}

} // namespace
