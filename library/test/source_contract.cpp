#include "source_contract.h"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "reap/layer/region.h"

bool serves(AnySource source, std::size_t size, std::size_t alignment) {
    void *const data = source.try_allocate(size, alignment);
    if (data == nullptr) return false;
    EXPECT_EQ(reap::padding_at(data, alignment), 0U) << size << " at " << alignment;
    std::memset(data, 0x5C, size);
    EXPECT_TRUE(source.may_own(data));
    source.deallocate(data, size, alignment);
    return true;
}

void expect_boundaries(AnySource source, std::size_t largest, std::size_t most) {
    for (std::size_t alignment = 1; alignment <= most; alignment *= 2) {
        ASSERT_TRUE(serves(source, 0, alignment)) << alignment;
        for (std::size_t size = 1; size <= largest; size *= 2) {
            for (const std::size_t near : {size - 1, size, size + 1})
                ASSERT_TRUE(serves(source, near, alignment)) << near << " at " << alignment;
        }
        for (std::size_t below = 0; below <= 4096; ++below) {
            ASSERT_FALSE(serves(source, SIZE_MAX - below, alignment)) << below;
            ASSERT_FALSE(serves(source, reap::max_object - below, alignment)) << below;
        }
    }
    for (const std::size_t bad : {0UL, 3UL, 24UL, 4097UL, SIZE_MAX, SIZE_MAX / 2}) {
        ASSERT_FALSE(serves(source, 8, bad)) << bad;
        EXPECT_ANY_THROW((void)source.allocate(8, bad));
    }
    ASSERT_FALSE(serves(source, 8, std::size_t{1} << 63U));
    EXPECT_ANY_THROW((void)source.allocate(SIZE_MAX, 16));
    ASSERT_TRUE(serves(source, 8, 16));
}

void expect_at_least(AnySource source, std::size_t largest) {
    for (std::size_t size = 1; size <= largest; size = size * 3 / 2 + 1) {
        for (const int give_back : {0, 1, 2}) {
            const auto got = source.try_allocate_at_least(size, 16);
            ASSERT_NE(got.data, nullptr);
            ASSERT_GE(got.size, size);
            std::memset(got.data, 1, got.size);
            source.deallocate(got.data,
                              give_back == 0   ? size
                              : give_back == 1 ? got.size
                                               : (size + got.size) / 2,
                              16);
        }
    }
}

void expect_separate(AnySource source, unsigned seed) {
    struct Object {
        unsigned char *data;
        std::size_t size;
        std::size_t alignment;
        unsigned char filled;
    };
    std::mt19937 random(seed);
    std::vector<Object> live;
    const auto end = [&](std::size_t number) {
        const Object object = live[number];
        for (std::size_t at = 0; at < object.size; ++at) ASSERT_EQ(object.data[at], object.filled) << seed;
        source.deallocate(object.data, object.size, object.alignment);
        live[number] = live.back();
        live.pop_back();
    };
    for (int step = 0; step < 600; ++step) {
        if (live.size() < 40 && random() % 3 != 0) {
            const std::size_t size = random() % (1U << random() % 13);
            const std::size_t alignment = std::size_t{1} << random() % 8;
            void *const data = source.try_allocate(size, alignment);
            if (data == nullptr) continue;
            const auto fill = static_cast<unsigned char>(random());
            std::memset(data, fill, size);
            live.push_back({static_cast<unsigned char *>(data), size, alignment, fill});
        } else if (!live.empty()) {
            end(random() % live.size());
        }
    }
    while (!live.empty()) end(live.size() - 1);
}

void expect_region(AnySource source, std::size_t bytes) {
    reap::Region region(source);
    for (int round = 0; round < 3; ++round) {
        std::vector<unsigned char *> objects;
        const auto mark = region.mark();
        for (std::size_t taken = 0; taken < bytes; taken += 1000) {
            auto *const object = static_cast<unsigned char *>(region.allocate(1000));
            std::memset(object, static_cast<int>(objects.size() % 251), 1000);
            objects.push_back(object);
        }
        for (std::size_t number = 0; number < objects.size(); ++number) {
            ASSERT_EQ(objects[number][0], number % 251);
            ASSERT_EQ(objects[number][999], number % 251);
        }
        EXPECT_TRUE(region.rewind(mark));
        region.reset(round == 1 ? reap::keep_none : reap::keep_all);
    }
}
