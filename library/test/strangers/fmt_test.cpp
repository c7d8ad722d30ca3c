#define FMT_HEADER_ONLY
#include <fmt/format.h>

#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <utility>

#include "reap/face/allocator.h"
#include "reap/layer/region.h"

namespace {

using Allocator = reap::StlAllocator<char>;
using Buffer = fmt::basic_memory_buffer<char, 16, Allocator>;

TEST(Fmt, FormatsIntoARegion) {
    reap::Region region;
    std::string expected;
    Buffer buffer{Allocator(region)};
    for (int i = 0; i < 10'000; ++i) {
        fmt::format_to(std::back_inserter(buffer), "{:>8}|{:.3f};", i, i / 3.0);
        expected += fmt::format("{:>8}|{:.3f};", i, i / 3.0);
    }
    EXPECT_TRUE(region.owns(buffer.data()));
    const Buffer moved = std::move(buffer);
    EXPECT_EQ(std::string(moved.data(), moved.size()), expected);
}

TEST(Fmt, FormatsIntoTheDefaultResource) {
    Buffer buffer;
    fmt::format_to(std::back_inserter(buffer), "{:0100d}", 7);
    EXPECT_EQ(std::string(buffer.data(), buffer.size()), std::string(99, '0') + "7");
}

} // namespace
