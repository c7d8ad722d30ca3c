#include "reap/mark.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// The program is its own listener: it exports the table, as a preload would.

extern "C" void mark_everything_from_c(void);

namespace {

std::string heard;
std::atomic<int> requests{0};

void begin() { requests.fetch_add(1, std::memory_order_relaxed); }
void end() { requests.fetch_add(1'000'000, std::memory_order_relaxed); }
void phase(const char *name) { heard += std::string("phase ") + name + '\n'; }
void create(const void *, const char *name) { heard += std::string("create ") + name + '\n'; }
void alloc(const void *pool, const void *object, size_t size) {
    const auto offset = static_cast<const char *>(object) - static_cast<const char *>(pool);
    heard += "alloc " + std::to_string(offset) + ' ' + std::to_string(size) + '\n';
}
void free_object(const void *pool, const void *object) {
    heard +=
        "free " + std::to_string(static_cast<const char *>(object) - static_cast<const char *>(pool)) + '\n';
}
void clear(const void *) { heard += "clear\n"; }
void destroy(const void *) { heard += "destroy\n"; }
void rewind_pool(const void *pool, const void *object) {
    heard += "rewind " + std::to_string(static_cast<const char *>(object) - static_cast<const char *>(pool)) +
             '\n';
}
void merge(const void *into, const void *from) {
    heard +=
        "merge " + std::to_string(static_cast<const char *>(from) - static_cast<const char *>(into)) + '\n';
}

} // namespace

extern "C" {
extern __attribute__((visibility("default"))) const reap_mark_listener reap_mark_listener_1;
const reap_mark_listener reap_mark_listener_1 = {begin,       end,   phase,   create,      alloc,
                                                 free_object, clear, destroy, rewind_pool, merge};
}

namespace {

class Mark : public testing::Test {
  protected:
    void SetUp() override {
        heard.clear();
        requests = 0;
    }
};

TEST_F(Mark, SaysToTheListenerWhatTheProgramSays) {
    mark_everything_from_c();
    EXPECT_EQ(heard, "phase from C\ncreate pool\nalloc 8 8\nfree 8\nrewind 8\nmerge 4\nclear\ndestroy\n");
    EXPECT_EQ(requests, 1'000'001);
}

TEST_F(Mark, ARequestEndsHoweverItsScopeIsLeft) {
    try {
        const reap::mark::Request request;
        throw std::runtime_error("over");
    } catch (const std::runtime_error &) {
        EXPECT_EQ(requests, 1'000'001);
    }
}

TEST_F(Mark, ThreadsThatLookTogetherAllFind) {
    constexpr int count = 16;
    reap_mark_state = 1; // as it is in a program that has not marked yet
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (int number = 0; number < count; ++number)
        threads.emplace_back([] { const reap::mark::Request request; });
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(requests, count * 1'000'001);
}

TEST_F(Mark, ALookThatFoundNobodyIsNotRepeated) {
    const uintptr_t found = reap_mark_state;
    reap_mark_state = 0;
    mark_everything_from_c();
    EXPECT_EQ(heard, "");
    EXPECT_EQ(requests, 0);
    reap_mark_state = found;
}

} // namespace
