#include "reap/layer/fixed_block.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "misuse_log.h"
#include "reap/source/system_pages.h"
#include "strict_source.h"

namespace {

using reap::FixedBlock;
using reap::FixedBlockOptions;
using reap::Misuse;
using Kinds = std::vector<Misuse>;

static_assert(reap::Source<FixedBlock<>> && reap::ThrowingSource<FixedBlock<>>);
static_assert(!std::is_copy_constructible_v<FixedBlock<>> && !std::is_move_constructible_v<FixedBlock<>>);
static_assert(!std::is_copy_assignable_v<FixedBlock<>> && !std::is_move_assignable_v<FixedBlock<>>);

/// Blocks filled with what tells them apart.
void fill(void *block, std::size_t size, std::size_t number) {
    std::memset(block, static_cast<int>(number % 251), size);
}
bool holds(const void *block, std::size_t size, std::size_t number) {
    const auto *const bytes = static_cast<const unsigned char *>(block);
    return std::all_of(bytes, bytes + size, [&](unsigned char byte) { return byte == number % 251; });
}

TEST(FixedBlock, KeepsWhatIsWrittenAtEverySize) {
    for (const std::size_t size :
         std::vector<std::size_t>{8, 16, 24, 40, 48, 64, 96, 200, 256, 264, 1000, 4096, 5000, 40000}) {
        FixedBlock blocks(size);
        std::vector<void *> all(700);
        for (std::size_t number = 0; number < all.size(); ++number) {
            all[number] = blocks.allocate();
            EXPECT_EQ(reap::padding_at(all[number], reap::natural_alignment(size)), 0U);
            fill(all[number], size, number);
        }
        EXPECT_EQ(blocks.statistics().live, all.size());
        for (std::size_t number = 0; number < all.size(); ++number)
            EXPECT_TRUE(holds(all[number], size, number)) << size;
        for (void *block : all) blocks.deallocate(block);
        EXPECT_EQ(blocks.statistics().live, 0U);
    }
}

TEST(FixedBlock, AlignsAsAsked) {
    for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        FixedBlock blocks(std::max<std::size_t>(alignment, 64) * 3, alignment);
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(reap::padding_at(blocks.allocate(), alignment), 0U) << alignment;
        }
    }
}

TEST(FixedBlock, RefusesBadSizesAndAlignments) {
    for (const std::size_t size : std::vector<std::size_t>{0, 1, 4, 7, 12, 65, SIZE_MAX, SIZE_MAX - 7,
                                                           (std::size_t{64} << 20U) + 8, reap::max_object})
        EXPECT_THROW(FixedBlock(size, FixedBlockOptions{}), std::invalid_argument) << size;
    for (const std::size_t alignment : std::vector<std::size_t>{0, 3, 24, 128})
        EXPECT_THROW(FixedBlock(64, alignment, FixedBlockOptions{}), std::invalid_argument) << alignment;
    EXPECT_THROW(FixedBlock(0, 8, FixedBlockOptions{}), std::invalid_argument);
    EXPECT_NO_THROW(FixedBlock(8, 1, FixedBlockOptions{}));
}

TEST(FixedBlock, IsASourceOfWhatFits) {
    FixedBlock blocks(64);
    for (std::size_t size = 0; size <= 64; ++size) {
        void *const block = blocks.allocate(size, 16);
        EXPECT_EQ(reap::padding_at(block, 16), 0U);
        std::memset(block, 1, size);
        blocks.deallocate(block, size, 16);
    }
    EXPECT_EQ(blocks.try_allocate_at_least(10, 8).size, 64U);
    for (std::size_t below = 0; below <= 4096; ++below)
        ASSERT_EQ(blocks.try_allocate(SIZE_MAX - below, 8), nullptr);
    EXPECT_EQ(blocks.try_allocate(65, 8), nullptr);
    EXPECT_EQ(blocks.try_allocate_at_least(65, 8).data, nullptr);
    EXPECT_THROW((void)blocks.allocate(65, 8), std::bad_alloc);
    for (const std::size_t alignment : std::vector<std::size_t>{0, 3, 24, 32})
        EXPECT_EQ(blocks.try_allocate(8, alignment), nullptr);
    blocks.deallocate(nullptr);
    blocks.deallocate(nullptr, 8, 8);
}

TEST(FixedBlock, HandsOutTheLastFreedFirst) {
    if (reap::hardened) GTEST_SKIP() << "what is freed waits in quarantine";
    FixedBlock blocks(64);
    std::vector<void *> all(20);
    for (void *&block : all) block = blocks.allocate();
    for (void *block : all) blocks.deallocate(block);
    std::reverse(all.begin(), all.end());
    for (void *block : all) EXPECT_EQ(blocks.allocate(), block);
}

// A list through the blocks would hand them out in the order of the frees.
TEST(FixedBlock, WalksMemoryInOrderAfterAMassFreeInRandomOrder) {
    FixedBlock blocks(64);
    std::vector<void *> all(10000);
    for (void *&block : all) block = blocks.allocate();
    const std::size_t held = blocks.statistics().held;
    std::shuffle(all.begin(), all.end(), std::mt19937(1)); // NOLINT(cert-msc51-cpp)
    for (void *block : all) blocks.deallocate(block);
    const std::set<void *> before(all.begin(), all.end());
    std::size_t rising = 0;
    std::size_t again = 0;
    const void *last = nullptr;
    for (std::size_t i = 0; i < all.size(); ++i) {
        void *const block = blocks.allocate();
        again += before.contains(block) ? 1 : 0;
        rising += block > last && i > 0 ? 1 : 0;
        last = block;
    }
    EXPECT_GT(rising, all.size() * 9 / 10);
    EXPECT_GT(again, all.size() * 9 / 10);
    EXPECT_EQ(blocks.statistics().held, held);
}

TEST(FixedBlock, NeverHandsABlockOutTwice) {
    std::mt19937 random(7); // NOLINT(cert-msc51-cpp)
    for (const std::size_t size : std::vector<std::size_t>{8, 24, 64, 256, 3000}) {
        FixedBlock blocks(size);
        std::vector<std::pair<void *, std::size_t>> live;
        std::size_t number = 0;
        for (std::size_t step = 0; step < 40000; ++step) {
            // Waves, so that all of it is free now and then.
            const bool grows = step / 4000 % 2 == 0;
            if (live.empty() || random() % 4 < (grows ? 3U : 1U)) {
                live.emplace_back(blocks.allocate(), ++number);
                fill(live.back().first, size, number);
            } else {
                std::swap(live[random() % live.size()], live.back());
                ASSERT_TRUE(holds(live.back().first, size, live.back().second)) << size << " step " << step;
                blocks.deallocate(live.back().first);
                live.pop_back();
            }
            ASSERT_TRUE(step % 1000 != 0 || blocks.statistics().live == live.size());
        }
        for (const auto &[block, written] : live) EXPECT_TRUE(holds(block, size, written));
    }
}

// Every order in which up to seven blocks can be freed, each followed by allocating all again.
TEST(FixedBlock, ServesEveryOrderOfFrees) {
    for (std::size_t count = 1; count <= 7; ++count) {
        std::vector<std::size_t> order(count);
        std::iota(order.begin(), order.end(), 0);
        FixedBlock blocks(32);
        do {
            std::vector<void *> all(count);
            for (void *&block : all) block = blocks.allocate();
            ASSERT_EQ(std::set<void *>(all.begin(), all.end()).size(), count);
            for (std::size_t i = 0; i < count; ++i) fill(all[i], 32, i);
            for (const std::size_t i : order) {
                ASSERT_TRUE(holds(all[i], 32, i));
                blocks.deallocate(all[i]);
            }
        } while (std::next_permutation(order.begin(), order.end()));
        EXPECT_EQ(blocks.statistics().live, 0U);
        EXPECT_EQ(blocks.statistics().chunks, 1U);
    }
}

TEST(FixedBlock, UsesItsMemoryAgainAfterAReset) {
    FixedBlock blocks(64);
    for (int i = 0; i < 5000; ++i) (void)blocks.allocate();
    const auto before = blocks.statistics();
    for (int round = 0; round < 3; ++round) {
        blocks.reset();
        EXPECT_EQ(blocks.statistics().live, 0U);
        EXPECT_EQ(blocks.statistics().spare, before.held);
        std::set<void *> all;
        for (std::size_t i = 0; i < 5000; ++i) {
            void *const block = blocks.allocate();
            EXPECT_TRUE(all.insert(block).second);
            fill(block, 64, i);
        }
        for (auto at = all.begin(); at != all.end(); std::advance(at, 2)) blocks.deallocate(*at);
        EXPECT_EQ(blocks.statistics().held, before.held);
    }
    blocks.reset(30000);
    EXPECT_LE(blocks.statistics().held, 30000U);
    EXPECT_GT(blocks.statistics().held, 0U);
    blocks.reset(reap::keep_none);
    EXPECT_EQ(blocks.statistics().held, 0U);
    (void)blocks.allocate();
    EXPECT_EQ(blocks.statistics().held, 8192U);
}

TEST(FixedBlock, KeepsToItsLimit) {
    FixedBlock blocks(64, FixedBlockOptions{.limit = 40000});
    std::vector<void *> all;
    while (void *const block = blocks.try_allocate()) all.push_back(block);
    EXPECT_GT(blocks.statistics().held, 30000U);
    EXPECT_LE(blocks.statistics().held, 40000U);
    EXPECT_THROW((void)blocks.allocate(), std::bad_alloc);
    blocks.deallocate(all.back());
    EXPECT_EQ(blocks.allocate(), all.back());
    FixedBlock none(64, FixedBlockOptions{.limit = 4095});
    EXPECT_EQ(none.try_allocate(), nullptr);
}

TEST(FixedBlock, TakesExtremeOptions) {
    for (const std::size_t first : std::vector<std::size_t>{0, 1, 5000, SIZE_MAX}) {
        for (const std::size_t growth : std::vector<std::size_t>{0, 1, 1000, SIZE_MAX}) {
            FixedBlock blocks(
                64, FixedBlockOptions{.first_chunk = first, .growth = growth, .largest_chunk = 20000});
            for (int i = 0; i < 1000; ++i) fill(blocks.allocate(), 64, 1);
            EXPECT_EQ(blocks.statistics().live, 1000U);
        }
    }
}

TEST(FixedBlock, OwnsItsBlocksAlone) {
    FixedBlock blocks(64);
    const FixedBlock others(64);
    void *const mine = blocks.allocate();
    EXPECT_TRUE(blocks.owns(mine));
    EXPECT_FALSE(others.owns(mine));
    EXPECT_FALSE(blocks.owns(&blocks));
    EXPECT_FALSE(blocks.owns(nullptr));
}

// At each call of the source in turn: failing once, and from then on.
TEST(FixedBlock, SurvivesEveryFailureOfItsSource) {
    for (const std::size_t failures : std::vector<std::size_t>{std::size_t{1}, SIZE_MAX}) {
        for (std::size_t good = 0; good < 8; ++good) {
            StrictSource source;
            FixedBlock blocks{source, 64};
            source.fail_after(good, failures);
            std::vector<void *> all;
            for (std::size_t i = 0; i < 3000; ++i) {
                void *const block = blocks.try_allocate();
                if (block == nullptr) {
                    EXPECT_THROW((void)blocks.allocate(), StrictFailure);
                    break;
                }
                fill(block, 64, all.size());
                all.push_back(block);
            }
            source.fail_never();
            for (int i = 0; i < 100; ++i) {
                all.push_back(blocks.allocate());
                fill(all.back(), 64, all.size() - 1);
            }
            for (std::size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(holds(all[i], 64, i));
            for (void *block : all) blocks.deallocate(block);
            EXPECT_EQ(blocks.statistics().held, source.bytes());
        }
    }
}

TEST(FixedBlock, StandsOnTheSystemsPages) {
    FixedBlock<reap::SystemPages> blocks(64);
    void *const block = blocks.allocate();
    fill(block, 64, 1);
    blocks.deallocate(block);
}

TEST(CheckedFixedBlock, FindsMisuse) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    FixedBlock blocks(64);
    auto *const block = static_cast<unsigned char *>(blocks.allocate(40, 16));
    (void)blocks.allocate();

    blocks.deallocate(block, 39, 16);
    blocks.deallocate(block, 65, 16);
    EXPECT_EQ(MisuseLog::take(), (Kinds{Misuse::wrong_size, Misuse::wrong_size}));
    blocks.deallocate(block, 64, 16);
    blocks.deallocate(block, 40, 16);
    blocks.deallocate(block);
    EXPECT_EQ(MisuseLog::take(), (Kinds{Misuse::double_free, Misuse::double_free}));

    alignas(16) unsigned char stranger[128];
    FixedBlock others(64);
    auto *const inside = static_cast<unsigned char *>(blocks.allocate());
    blocks.deallocate(stranger + 64);
    blocks.deallocate(inside + 16);
    others.deallocate(inside);
    // Where the slab has what it knows of its blocks.
    auto *const slab = inside - reinterpret_cast<std::uintptr_t>(inside) % 4096;
    blocks.deallocate(slab + reap::guard::lead(16));
    EXPECT_EQ(MisuseLog::take(), Kinds(4, Misuse::foreign_free));

    write_anyway(inside + 64, 1);
    blocks.deallocate(inside);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    write_anyway(inside + 64, 0xA9);
    auto *const second = static_cast<unsigned char *>(blocks.allocate());
    write_anyway(second - 1, 1);
    blocks.deallocate(second);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::underflow});
    write_anyway(second - 1, 0xA6);

    blocks.deallocate(second);
    write_anyway(second + 3, 1);
    EXPECT_EQ(blocks.allocate(), second);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    blocks.reset();
    write_anyway(second, 1);
    for (int i = 0; i < 100; ++i) (void)blocks.allocate();
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_reset});
}

// Free blocks are in the magazine, in bitmaps, or in a run; a write to any is found, at the end at the
// latest.
TEST(CheckedFixedBlock, FindsUseAfterFreeWhereverTheBlockIs) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    for (std::size_t victim = 0; victim < 200; victim += 13) {
        {
            FixedBlock blocks(64);
            std::vector<unsigned char *> all(200);
            for (auto *&block : all) block = static_cast<unsigned char *>(blocks.allocate());
            for (auto *block : all) blocks.deallocate(block);
            write_anyway(all[victim] + 63, 1);
        }
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free}) << victim;
    }
}

TEST(CheckedFixedBlock, FindsOverflowOfWhatIsLeftToTheEnd) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    {
        FixedBlock blocks(64);
        write_anyway(static_cast<unsigned char *>(blocks.allocate(40, 8)) + 40, 1);
    }
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
}

} // namespace
