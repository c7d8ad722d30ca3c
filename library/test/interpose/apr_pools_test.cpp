// What apr_pools.h promises, asked of whatever serves it: APR itself, and libreap-apr.so where it is
// preloaded.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <apr_general.h>
#include <apr_pools.h>
#include <apr_strings.h>
#include <apr_thread_proc.h>
#include <gtest/gtest.h>

#include "reap/interpose/ap_pfree.h"

namespace {

using Free = decltype(&ap_pfree);
using Held = apr_size_t (*)(apr_pool_t *, int);

/// Null where APR's own pools serve.
template <class Function>
Function found(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

class Pools : public testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(apr_pool_create(&pool_, nullptr), APR_SUCCESS); }
    void TearDown() override { apr_pool_destroy(pool_); }

    /// A child whose end is written down as a letter, by a cleanup and by one that comes before.
    apr_pool_t *child_of(apr_pool_t *parent, char name) {
        apr_pool_t *child = nullptr;
        EXPECT_EQ(apr_pool_create(&child, parent), APR_SUCCESS);
        note_end(child, name);
        return child;
    }
    void note_end(apr_pool_t *pool, char name) {
        auto *const note = static_cast<Note *>(apr_palloc(pool, sizeof(Note)));
        *note = {.said = &said_, .name = name};
        apr_pool_cleanup_register(pool, note, say, apr_pool_cleanup_null);
    }

    struct Note {
        std::string *said;
        char name;
    };
    static apr_status_t say(void *data) {
        const auto *const note = static_cast<Note *>(data);
        note->said->push_back(note->name);
        return APR_SUCCESS;
    }
    static apr_status_t say_in_capitals(void *data) {
        const auto *const note = static_cast<Note *>(data);
        note->said->push_back(static_cast<char>(note->name - 'a' + 'A'));
        return APR_SUCCESS;
    }

    apr_pool_t *pool_ = nullptr;
    std::string said_;
};

TEST_F(Pools, ObjectsAreAlignedAndApart) {
    std::vector<std::pair<char *, std::size_t>> objects;
    for (std::size_t n = 0; n < 3000; ++n) {
        const std::size_t size = n % 97 == 0 ? 20'000 + n : n % 130;
        auto *const object = static_cast<char *>(apr_palloc(pool_, size));
        ASSERT_NE(object, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % 8, 0U);
        std::memset(object, static_cast<int>(n % 251), size);
        objects.emplace_back(object, size);
    }
    for (std::size_t n = 0; n < objects.size(); ++n) {
        const auto [object, size] = objects[n];
        for (std::size_t at = 0; at < size; ++at) ASSERT_EQ(object[at], static_cast<char>(n % 251)) << n;
    }
}

TEST_F(Pools, ZeroedObjectsAreZeroAfterAClear) {
    std::memset(apr_palloc(pool_, 4000), 1, 4000);
    apr_pool_clear(pool_);
    // A macro over apr_palloc(), and a function that no header declares.
    const auto zeroed = found<void *(*)(apr_pool_t *, apr_size_t)>("apr_pcalloc");
    const auto *const object = static_cast<const char *>(zeroed(pool_, 4000));
    for (std::size_t at = 0; at < 4000; ++at) ASSERT_EQ(object[at], 0);
}

TEST_F(Pools, ChildrenEndBeforeTheirParentAndCleanupsFromTheYoungest) {
    apr_pool_t *const child = child_of(pool_, 'c');
    child_of(child, 'g');
    note_end(pool_, 'p');
    note_end(pool_, 'q');
    apr_pool_clear(pool_);
    EXPECT_EQ(said_, "gcqp");
    apr_pool_clear(pool_);
    EXPECT_EQ(said_, "gcqp");
}

TEST_F(Pools, PreCleanupsRunWhileChildrenAreThere) {
    child_of(pool_, 'c');
    auto note = Note{.said = &said_, .name = 'b'};
    apr_pool_pre_cleanup_register(pool_, &note, say);
    apr_pool_clear(pool_);
    EXPECT_EQ(said_, "bc");
}

TEST_F(Pools, CleanupsAreKilledRunAndChanged) {
    auto killed = Note{.said = &said_, .name = 'k'};
    auto run = Note{.said = &said_, .name = 'r'};
    auto changed = Note{.said = &said_, .name = 'x'};
    for (Note *each : {&killed, &run, &changed}) apr_pool_cleanup_register(pool_, each, say, say);
    apr_pool_cleanup_kill(pool_, &killed, say);
    EXPECT_EQ(apr_pool_cleanup_run(pool_, &run, say), APR_SUCCESS);
    EXPECT_EQ(said_, "r");
    apr_pool_child_cleanup_set(pool_, &changed, say, say_in_capitals);
    apr_pool_cleanup_for_exec();
    EXPECT_EQ(said_, "rX");
    apr_pool_clear(pool_);
    EXPECT_EQ(said_, "rX");
}

TEST_F(Pools, ACleanupThatIsRunIsTakenOffBothLists) {
    auto note = Note{.said = &said_, .name = 'n'};
    apr_pool_cleanup_register(pool_, &note, say, apr_pool_cleanup_null);
    apr_pool_pre_cleanup_register(pool_, &note, say);
    EXPECT_EQ(apr_pool_cleanup_run(pool_, &note, say), APR_SUCCESS);
    apr_pool_clear(pool_);
    EXPECT_EQ(said_, "n");
}

TEST_F(Pools, KnowTheirParentsAndWhatIsKeptWithThem) {
    apr_pool_t *const child = child_of(pool_, 'c');
    EXPECT_EQ(apr_pool_parent_get(child), pool_);
    EXPECT_TRUE(apr_pool_is_ancestor(pool_, child));
    EXPECT_FALSE(apr_pool_is_ancestor(child, pool_));
    std::string key = "key";
    EXPECT_EQ(apr_pool_userdata_set(&said_, key.c_str(), nullptr, pool_), APR_SUCCESS);
    key = "yek"; // the pool has a copy
    void *kept = nullptr;
    apr_pool_userdata_get(&kept, "key", pool_);
    EXPECT_EQ(kept, &said_);
    apr_pool_clear(pool_);
    apr_pool_userdata_get(&kept, "key", pool_);
    EXPECT_EQ(kept, nullptr);
}

TEST_F(Pools, TextOfAnyLengthIsPrinted) {
    const std::string long_text(9000, 'y');
    EXPECT_STREQ(apr_psprintf(pool_, "%s %d %pI", "x", 7, static_cast<void *>(nullptr)), "x 7 (null)");
    EXPECT_EQ(apr_psprintf(pool_, "<%s>", long_text.c_str()), "<" + long_text + ">");
}

// APR's allocators give memory by pages, whose size they learn when pools are initialized: without that httpd
// ended at its first bucket.
TEST_F(Pools, TheAllocatorOfAPoolGivesMemory) {
    apr_allocator_t *const allocator = apr_pool_allocator_get(pool_);
    ASSERT_NE(allocator, nullptr);
    apr_memnode_t *const node = apr_allocator_alloc(allocator, 8000);
    ASSERT_NE(node, nullptr);
    apr_allocator_free(allocator, node);
}

// It is shared by all pools that were made without one, so by threads.
TEST_F(Pools, TheAllocatorThatPoolsShareHasALock) {
    EXPECT_NE(apr_allocator_mutex_get(apr_pool_allocator_get(pool_)), nullptr);
}

TEST_F(Pools, ThreadsHavePoolsOfTheirOwn) {
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int n = 0; n < 4; ++n)
        threads.emplace_back([parent = pool_] {
            for (int round = 0; round < 300; ++round) {
                apr_pool_t *mine = nullptr;
                ASSERT_EQ(apr_pool_create(&mine, parent), APR_SUCCESS);
                for (int object = 0; object < 50; ++object) std::memset(apr_palloc(mine, 100), round, 100);
                apr_pool_destroy(mine);
            }
        });
    for (auto &each : threads) each.join();
}

TEST_F(Pools, ChildProcessesAreWaitedFor) {
    apr_procattr_t *attributes = nullptr;
    ASSERT_EQ(apr_procattr_create(&attributes, pool_), APR_SUCCESS);
    apr_procattr_cmdtype_set(attributes, APR_PROGRAM_PATH);
    const char *const words[] = {"sleep", "60", nullptr};
    auto *const process = static_cast<apr_proc_t *>(apr_pcalloc(pool_, sizeof(apr_proc_t)));
    ASSERT_EQ(apr_proc_create(process, "sleep", words, nullptr, attributes, pool_), APR_SUCCESS);
    const apr_proc_t started = *process;
    apr_pool_note_subprocess(pool_, process, APR_KILL_ALWAYS);
    apr_pool_clear(pool_);
    auto again = started;
    EXPECT_NE(apr_proc_wait(&again, nullptr, nullptr, APR_NOWAIT), APR_CHILD_NOTDONE);
}

TEST_F(Pools, WhatIsFreedIsUsedAgain) {
    const auto free = found<Free>("ap_pfree");
    const auto held = found<Held>("apr_pool_num_bytes");
    if (free == nullptr) GTEST_SKIP() << "APR's own pools free nothing";
    free(pool_, nullptr);
    apr_size_t settled = 0;
    for (int round = 0; round < 20; ++round) {
        for (int n = 0; n < 10'000; ++n)
            free(pool_, apr_palloc(pool_, 24 + static_cast<apr_size_t>(n) % 200));
        if (round == 0) settled = held(pool_, 0);
    }
    EXPECT_EQ(held(pool_, 0), settled);
    EXPECT_LT(settled, std::size_t{100} << 10);
    apr_pool_t *const child = child_of(pool_, 'c');
    apr_palloc(child, 50'000);
    EXPECT_EQ(held(pool_, 0), settled);
    EXPECT_GE(held(pool_, 1), settled + 50'000);
}

} // namespace

int main(int count, char **words) {
    testing::InitGoogleTest(&count, words);
    apr_initialize();
    const bool wanted = count > 1 && std::string(words[1]) == "--served";
    if (wanted != (found<Free>("ap_pfree") != nullptr)) return 3;
    const int failed = RUN_ALL_TESTS();
    apr_terminate();
    return failed;
}
