#include "reap/source/buffer.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <new>
#include <type_traits>
#include <vector>

#include "misuse_log.h"
#include "source_contract.h"

namespace {

using reap::Buffer;
using reap::Misuse;
using Kinds = std::vector<Misuse>;

static_assert(reap::ThrowingSource<Buffer> && reap::OwningSource<Buffer>);
static_assert(!std::is_copy_constructible_v<Buffer> && !std::is_move_constructible_v<Buffer>);

TEST(Buffer, HandsOutAllOfIt) {
    alignas(16) std::byte memory[256];
    Buffer buffer(memory);
    if (!reap::checked) {
        for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(buffer.try_allocate(1, 1), memory + i);
        EXPECT_EQ(buffer.available(), 0U);
        buffer.reset();
        EXPECT_EQ(buffer.try_allocate(257, 1), nullptr);
        EXPECT_EQ(buffer.try_allocate(256, 1), memory);
    }
    while (buffer.try_allocate(16) != nullptr) {
    }
    EXPECT_THROW((void)buffer.allocate(16), std::bad_alloc);
    EXPECT_EQ(buffer.capacity(), 256U);
    EXPECT_EQ(buffer.used() + buffer.available(), 256U);
}

TEST(Buffer, TakesTheLastObjectBack) {
    alignas(16) std::byte memory[1024];
    Buffer buffer(memory);
    void *const first = buffer.allocate(24);
    void *const second = buffer.allocate(0);
    buffer.deallocate(second, 0);
    EXPECT_EQ(buffer.allocate(8), second);
    buffer.deallocate(first, 24);
    EXPECT_NE(buffer.allocate(8), first);
    buffer.deallocate(nullptr, 8);
    EXPECT_TRUE(buffer.owns(memory));
    EXPECT_TRUE(buffer.owns(memory + 1023));
    EXPECT_FALSE(buffer.owns(memory + 1024));
    EXPECT_FALSE(buffer.owns(nullptr));
}

TEST(Buffer, ServesNothingFromNothing) {
    Buffer none(nullptr, 1000);
    EXPECT_EQ(none.try_allocate(0, 1), nullptr);
    EXPECT_FALSE(none.owns(nullptr));
    none.reset();
    std::byte memory[1];
    Buffer empty(memory, 0);
    EXPECT_EQ(empty.try_allocate(1, 1), nullptr);
    EXPECT_EQ(empty.try_allocate(1, 1UL << 62U), nullptr);
    EXPECT_EQ(empty.capacity(), 0U);
}

TEST(Buffer, KeepsTheContract) {
    std::vector<std::byte> memory(std::size_t{3} << 20);
    Buffer buffer(memory.data() + 1, memory.size() - 1);
    // Alignments lose room that only a reset wins back.
    for (std::size_t most = 1; most <= std::size_t{1} << 20; most *= 4) {
        buffer.reset();
        ASSERT_TRUE(serves(buffer, 100, most));
    }
    buffer.reset();
    expect_boundaries(buffer, 1U << 12U, 4096);
    expect_separate(buffer, 4);
    buffer.reset();
    expect_region(buffer, 200000);
}

TEST(Buffer, GivesTheMemoryBackOpen) {
    alignas(16) std::byte memory[1024];
    {
        Buffer buffer(memory);
        std::memset(buffer.allocate(40), 1, 40);
    }
    std::memset(memory, 0, sizeof memory);
#if REAP_CHECKED && REAP_ASAN
    EXPECT_EQ(__asan_region_is_poisoned(memory, sizeof memory), nullptr);
    Buffer buffer(memory);
    EXPECT_TRUE(__asan_address_is_poisoned(memory));
    auto *const object = static_cast<std::byte *>(buffer.allocate(40));
    EXPECT_EQ(__asan_region_is_poisoned(object, 40), nullptr);
    EXPECT_TRUE(__asan_address_is_poisoned(object + 40));
    buffer.deallocate(object, 40);
    EXPECT_TRUE(__asan_address_is_poisoned(object));
#endif
}

TEST(Buffer, FindsMisuse) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    alignas(16) std::byte memory[2048];
    Buffer buffer(memory);
    auto *const first = static_cast<std::byte *>(buffer.allocate(40));
    auto *const last = static_cast<std::byte *>(buffer.allocate(40));
    buffer.deallocate(first, 41);
    int stranger = 0;
    buffer.deallocate(&stranger, 4);
    buffer.deallocate(first, 40);
    buffer.deallocate(first, 40);
    EXPECT_EQ(MisuseLog::take(), (Kinds{Misuse::wrong_size, Misuse::foreign_free, Misuse::double_free}));
    buffer.deallocate(last, 40);
    write_anyway(last + 5, 1);
    auto *const again = static_cast<std::byte *>(buffer.allocate(40));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    write_anyway(again + 40, 1);
    buffer.reset();
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    write_anyway(first, 1);
    (void)buffer.allocate(400);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_reset});
}

} // namespace
