// Concern: events that need no stamp, as the owners of addresses say, are in the right order all the same: at
// each address by the latest stamp of their thread, whatever threads do at the same time.
#include "address_owners.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "stamp.h"

namespace {

using reap::preload::AddressOwners;

constexpr uint32_t kThreads = 4;
constexpr size_t kBlocks = 96;
constexpr uint32_t kMostUnstamped = 15;

// An allocator of blocks of 16 bytes, of which each is free, or belongs to one thread.
struct Block {
    std::atomic<bool> used{false};
    uint32_t turn = 0; // events so far; of whom the block belongs to alone
};

struct Event {
    size_t block;
    uint32_t turn;
    uint64_t order; // the latest stamp of its thread, its own included
    bool stamped;
};

struct Program {
    AddressOwners owners;
    std::array<Block, kBlocks> blocks;
    std::array<std::atomic<size_t>, 8> mailboxes{}; // a block that passes to another thread, + 1; 0: none
    std::atomic<uint32_t> waiting{kThreads};
};

class Thread {
  public:
    Thread(Program &program, uint32_t number)
        : program_(program), random_(number), tag_(AddressOwners::tag_of(number)) {}

    void run(uint32_t turns) {
        --program_.waiting;
        while (program_.waiting != 0) { // all begin at once
        }
        for (uint32_t turn = 0; turn < turns; ++turn) {
            allocate();
            if (!held_.empty() && random_() % 4 == 0) send();
            if (held_.size() > kBlocks / kThreads / 2 || random_() % 2 == 0) free();
        }
        while (!held_.empty()) free();
    }

    std::vector<Event> events;

  private:
    static const void *address(size_t block) { return reinterpret_cast<const void *>((block + 1) * 16); }

    void note(size_t block, bool large = false) {
        const bool stamped =
            large || unstamped_ >= kMostUnstamped || !program_.owners.owns(tag_, address(block));
        if (stamped) {
            latest_ = program_.owners
                          .stamp(tag_, address(block), [] { return reap::preload::stamp(REAP_CLOCK_TSC); })
                          .ticks;
        }
        if (large) program_.owners.release(address(block));
        unstamped_ = stamped ? 0 : unstamped_ + 1;
        events.push_back({block, program_.blocks[block].turn++, latest_, stamped});
    }

    void allocate() {
        const size_t block = random_() % kBlocks;
        if (program_.blocks[block].used.exchange(true, std::memory_order_acquire)) return;
        held_.push_back(block);
        note(block, random_() % 32 == 0);
    }
    void send() {
        auto &mailbox = program_.mailboxes[random_() % program_.mailboxes.size()];
        const size_t got = mailbox.exchange(held_.back() + 1, std::memory_order_acq_rel);
        held_.pop_back();
        if (got != 0) held_.push_back(got - 1);
    }
    void free() {
        if (held_.empty()) return;
        std::swap(held_[random_() % held_.size()], held_.back());
        const size_t block = held_.back();
        held_.pop_back();
        note(block);
        program_.blocks[block].used.store(false, std::memory_order_release);
    }

    Program &program_;
    std::mt19937 random_;
    AddressOwners::Tag tag_;
    std::vector<size_t> held_;
    uint64_t latest_ = reap::preload::stamp(REAP_CLOCK_TSC);
    uint32_t unstamped_ = kMostUnstamped;
};

// What the threads of a program did, with their numbers from `first` on.
std::vector<Thread> run(Program &program, uint32_t turns, uint32_t first = 0) {
    std::vector<Thread> threads;
    threads.reserve(kThreads);
    for (uint32_t number = 0; number < kThreads; ++number) threads.emplace_back(program, first + number);
    std::vector<std::thread> running;
    running.reserve(kThreads);
    for (Thread &thread : threads) running.emplace_back([&thread, turns] { thread.run(turns); });
    for (std::thread &thread : running) thread.join();
    return threads;
}

size_t stamped(const std::vector<Thread> &threads) {
    size_t count = 0;
    for (const Thread &thread : threads)
        count += static_cast<size_t>(std::count_if(thread.events.begin(), thread.events.end(),
                                                   [](const Event &event) { return event.stamped; }));
    return count;
}

size_t all(const std::vector<Thread> &threads) {
    size_t count = 0;
    for (const Thread &thread : threads) count += thread.events.size();
    return count;
}

void expect_in_order(const std::vector<Thread> &threads) {
    struct Turn {
        uint64_t order;
        size_t thread;
    };
    std::vector<std::map<uint32_t, Turn>> blocks(kBlocks);
    for (size_t thread = 0; thread < threads.size(); ++thread)
        for (const Event &event : threads[thread].events)
            blocks[event.block][event.turn] = {event.order, thread};
    for (size_t block = 0; block < kBlocks; ++block) {
        const Turn *before = nullptr;
        for (const auto &[number, turn] : blocks[block]) {
            if (before != nullptr && before->thread != turn.thread) {
                ASSERT_LT(before->order, turn.order) << "block " << block << ", turn " << number;
            }
            before = &turn;
        }
    }
}

TEST(AddressOwners, KeepTheOrderAtEachAddress) {
    for (int round = 0; round < 4; ++round) {
        const auto program = std::make_unique<Program>();
        program->owners.start();
        const std::vector<Thread> threads = run(*program, 40000);
        expect_in_order(threads);
        EXPECT_LT(stamped(threads), all(threads)) << "or this says nothing";
    }
}

TEST(AddressOwners, ThreadsBeyondAllNumbersOwnNothing) {
    const auto program = std::make_unique<Program>();
    program->owners.start();
    const std::vector<Thread> threads = run(*program, 10000, (1 << 16) - 3); // the first has the last number
    expect_in_order(threads);
    EXPECT_EQ(AddressOwners::tag_of(1 << 16), AddressOwners::tag_of(UINT32_MAX));
    for (size_t thread = 1; thread < kThreads; ++thread)
        for (const Event &event : threads[thread].events) ASSERT_TRUE(event.stamped);
}

TEST(AddressOwners, AThreadByItselfNeedsAStampForEachStretchOnce) {
    AddressOwners owners;
    const auto now = [] { return uint64_t{7}; };
    const auto at = [](uint64_t address) { return reinterpret_cast<const void *>(address); };
    EXPECT_FALSE(owners.owns(1, at(0x1000))) << "before they were started";
    EXPECT_FALSE(owners.stamp(1, at(0x1000), now).taken);
    EXPECT_FALSE(owners.owns(1, at(0x1000)));
    owners.start();
    EXPECT_TRUE(owners.stamp(1, at(0x1000), now).taken);
    EXPECT_FALSE(owners.stamp(1, at(0x1000), now).taken);
    EXPECT_TRUE(owners.owns(1, at(0x10f0)));
    EXPECT_FALSE(owners.owns(2, at(0x10f0)));
    EXPECT_FALSE(owners.owns(1, at(0x1100)));
    owners.release(at(0x1010));
    EXPECT_FALSE(owners.owns(1, at(0x1000)));
    EXPECT_TRUE(owners.stamp(2, at(0x1000), now).taken);
    owners.stop();
    EXPECT_FALSE(owners.owns(2, at(0x1000)));
    EXPECT_FALSE(owners.stamp(2, at(0x1000), now).taken);
}

TEST(AddressOwners, TheChildOfAForkOwnsNothing) {
    AddressOwners owners;
    const void *const address = reinterpret_cast<const void *>(0x1000);
    owners.start();
    (void)owners.stamp(1, address, [] { return uint64_t{7}; });
    const pid_t child = fork();
    if (child == 0) _exit(owners.owns(1, address) ? 1 : 0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(owners.owns(1, address));
}

// What another thread does while one reads the clock, which is in the midst of it all.
TEST(AddressOwners, AStampIsReadAgainUntilNoOtherThreadHasTakenTheStretchMeanwhile) {
    AddressOwners owners;
    owners.start();
    const void *const address = reinterpret_cast<const void *>(0x1000);
    uint64_t ticks = 0;
    const auto clock = [&ticks] { return ++ticks; };
    AddressOwners::Stamp first = owners.stamp(1, address, clock);
    AddressOwners::Stamp other{};
    const auto interrupted = [&](int at) { // in the call of that number
        return [&, at, call = 0]() mutable {
            const uint64_t now = clock();
            if (++call == at) {
                EXPECT_FALSE(at != 1 && owners.owns(1, address)) << "the clock is read behind the mark";
                other = owners.stamp(3, address, clock);
                EXPECT_TRUE(other.taken);
            }
            return now;
        };
    };
    // The owner, which then owns nothing, and has a later stamp than who took the stretch.
    first = owners.stamp(1, address, interrupted(1));
    EXPECT_GT(first.ticks, other.ticks);
    EXPECT_TRUE(owners.owns(1, address));
    // Another thread, which finds the mark of a third one in the place of its own.
    first = owners.stamp(2, address, interrupted(2));
    EXPECT_TRUE(first.taken);
    EXPECT_GT(first.ticks, other.ticks);
    EXPECT_TRUE(owners.owns(2, address));
}

TEST(AddressOwners, ManyThreadsWithHeapsOfTheirOwnHaveMarksOfTheirOwn) {
    AddressOwners owners;
    owners.start();
    const auto now = [] { return uint64_t{7}; };
    constexpr uint64_t kHeap = 64 << 20; // as the C library's arenas are apart
    constexpr uint64_t kUsed = 1 << 20;
    size_t taken = 0;
    for (int pass = 0; pass < 2; ++pass) {
        taken = 0;
        for (uint32_t thread = 0; thread < 64; ++thread)
            for (uint64_t offset = 0; offset < kUsed; offset += 4096)
                taken +=
                    owners
                        .stamp(AddressOwners::tag_of(thread),
                               reinterpret_cast<const void *>(0x7f0000000000 + thread * kHeap + offset), now)
                        .taken;
    }
    EXPECT_LT(taken, 64 * kUsed / 4096 / 8);
}

} // namespace
