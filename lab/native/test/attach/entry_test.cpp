// Where in a function a probe costs least: on what compilers make of malloc and free.
#include "attach/probe/entry.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace reap::native {
namespace {

using Code = std::vector<unsigned char>;

TEST(Entry, APushIsEmulatedWhereItIs) {
    const ProbeSpot spot = cheapest_spot(Code{0x41, 0x54, 0x55, 0x53}, true); // glibc's malloc: push %r12
    EXPECT_TRUE(spot.emulated);
    EXPECT_EQ(spot.skipped, 0u);
}

TEST(Entry, AJumpBehindATestIsFound) {
    // glibc's free: test %rdi,%rdi; je
    const ProbeSpot near = cheapest_spot(Code{0x48, 0x85, 0xff, 0x0f, 0x84, 0xbf, 0, 0, 0, 0x55}, false);
    EXPECT_TRUE(near.emulated);
    EXPECT_EQ(near.skipped, 3u);
    // jemalloc's malloc: cmp $0x1000,%rdi; ja
    const ProbeSpot wide =
        cheapest_spot(Code{0x48, 0x81, 0xff, 0, 0x10, 0, 0, 0x0f, 0x87, 0x93, 0, 0, 0}, true);
    EXPECT_TRUE(wide.emulated);
    EXPECT_EQ(wide.skipped, 7u);
}

TEST(Entry, CodeStandsAroundAProbeWhereItCanComeBackTo) {
    const auto ends = [](const Code &code, bool emulated) {
        std::vector<std::pair<uint64_t, uint64_t>> found;
        for (const AddressRange &range : around_probe(code, emulated))
            found.emplace_back(range.begin, range.end);
        return found;
    };
    using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
    EXPECT_EQ(ends({0x55, 0x53}, true), (Ranges{{0, 2}}));                              // push %rbp
    EXPECT_EQ(ends({0x41, 0x54, 0x55}, true), (Ranges{{0, 3}}));                        // push %r12
    EXPECT_EQ(ends({0x74, 0x10}, true), (Ranges{{0, 3}, {18, 19}}));                    // je
    EXPECT_EQ(ends({0x0f, 0x87, 0x93, 0, 0, 0}, true), (Ranges{{0, 7}, {0x99, 0x9a}})); // ja
    const Code back = {0xe9, 0xf0, 0xff, 0xff, 0xff};                                   // jmp
    EXPECT_EQ(ends(back, true), (Ranges{{0, 6}, {UINT64_MAX - 10, UINT64_MAX - 9}}));
    EXPECT_EQ(ends({0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}, false), (Ranges{{0, 16}})); // stepped
}

TEST(Entry, ManyHarmlessInstructionsArePassed) {
    // jemalloc's free, down to its jne
    const Code code = {0x48, 0x89, 0xf8, 0x48, 0x8b, 0x15, 0x0e, 0x53, 0x0a, 0x00, 0x48, 0x89, 0xf9, 0x48,
                       0xc1, 0xe8, 0x1a, 0x48, 0x81, 0xe1, 0x00, 0x00, 0x00, 0xc0, 0x25, 0xf0, 0x00, 0x00,
                       0x00, 0x64, 0x48, 0x03, 0x04, 0x25, 0x00, 0x00, 0x00, 0x00, 0x48, 0x01, 0xd0, 0x48,
                       0x3b, 0x88, 0xb0, 0x01, 0x00, 0x00, 0x0f, 0x85, 0x8a, 0x00, 0x00, 0x00};
    const ProbeSpot spot = cheapest_spot(code, false);
    EXPECT_TRUE(spot.emulated);
    EXPECT_EQ(spot.skipped, 0x30u);
    // It changes rdx, which a function of three arguments is asked for.
    EXPECT_EQ(cheapest_spot(code, true).skipped, 0u);
    EXPECT_FALSE(cheapest_spot(code, true).emulated);
}

TEST(Entry, WhatChangesTheFourthArgumentIsNotPassedWhereItIsAskedFor) {
    const Code code = {0x48, 0x89, 0xf9, 0x74, 0x02}; // mov %rdi,%rcx; je
    EXPECT_EQ(cheapest_spot(code, false).skipped, 3u);
    EXPECT_EQ(cheapest_spot(code, true).skipped, 0u);
}

TEST(Entry, WhatChangesTheStackOrTheArgumentsIsNotPassed) {
    for (const Code &code : {Code{0x48, 0x83, 0xec, 0x08, 0x74, 0x02},    // sub $8,%rsp; je
                             Code{0x48, 0x89, 0xf7, 0x74, 0x02},          // mov %rsi,%rdi; je
                             Code{0x48, 0x89, 0xfb, 0x74, 0x02},          // mov %rdi,%rbx; je
                             Code{0x64, 0x48, 0x8b, 0x38, 0x74, 0x02},    // mov %fs:(%rax),%rdi; je
                             Code{0x48, 0x89, 0x3d, 1, 0, 0, 0, 0x74, 2}, // mov %rdi,memory; je
                             Code{0xf7, 0xc7, 0xff, 0x0f, 0, 0}}) {       // unknown
        const ProbeSpot spot = cheapest_spot(code, false);
        EXPECT_FALSE(spot.emulated);
        EXPECT_EQ(spot.skipped, 0u);
    }
}

TEST(Entry, ACallOfAnotherIsFound) {
    const Code call = {0x53, 0x89, 0xf3, 0xe8, 0x10, 0, 0, 0, 0x5b, 0xc3}; // push; mov; call +0x10; pop; ret
    EXPECT_TRUE(calls(call, 8 + 0x10));
    EXPECT_FALSE(calls(call, 8 + 0x11));
    EXPECT_FALSE(jumps(call, 8 + 0x10));
    const Code backwards = {0x48, 0x89, 0xd7, 0xe9, 0xf0, 0xff, 0xff, 0xff}; // mov; jmp -0x10
    EXPECT_TRUE(jumps(backwards, 8 - 0x10));
    EXPECT_FALSE(calls(backwards, 8 - 0x10));
    const Code branch = {0x85, 0xff, 0x0f, 0x84, 0x20, 0, 0, 0}; // test; je +0x20
    EXPECT_TRUE(jumps(branch, 8 + 0x20));
    for (size_t length = 0; length < call.size() - 2; ++length) {
        EXPECT_FALSE(calls(std::span(call).first(length), 8 + 0x10));
    }
}

TEST(Entry, CodeThatEndsEarlyIsLeftAlone) {
    const Code code = {0x48, 0x81, 0xff, 0, 0x10, 0, 0, 0x0f, 0x87};
    for (size_t length = 0; length < code.size(); ++length) {
        const ProbeSpot spot = cheapest_spot(std::span(code).first(length), true);
        EXPECT_FALSE(spot.emulated);
        EXPECT_EQ(spot.skipped, 0u);
    }
}

TEST(Entry, AFunctionThatIsAJumpSaysWhereItLeads) {
    EXPECT_EQ(jump_distance(Code{0xe9, 0xfb, 0xff, 0xff, 0xff}), 0);
    EXPECT_EQ(jump_distance(Code{0xe9, 0x0b, 0, 0, 0}), 16);
    EXPECT_EQ(jump_distance(Code{0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 0x07, 0, 0, 0}), 16);
    EXPECT_EQ(jump_distance(Code{0x53, 0xe9, 0, 0, 0, 0}), 0);
    EXPECT_TRUE(is_stub(Code{0xff, 0x25, 0, 0, 0, 0}));
    EXPECT_TRUE(is_stub(Code{0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 0, 0, 0}));
    EXPECT_FALSE(is_stub(Code{0x41, 0x57}));
}

} // namespace
} // namespace reap::native
