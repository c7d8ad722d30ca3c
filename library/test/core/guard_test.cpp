#include "reap/core/guard.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "misuse_log.h"

const void *misuse_handler_of_guard_test();

namespace {

namespace guard = reap::guard;
using reap::Misuse;
using Kinds = std::vector<Misuse>;

struct Guard : testing::Test {
    alignas(64) std::byte memory[1024];
    guard::Ledger ledger;
    MisuseLog log;

    void TearDown() override { reap::annotate::defined(memory, sizeof memory); }
    void *admit(std::size_t at, std::size_t size) { return ledger.admit(memory + at, size, 16); }
};

TEST_F(Guard, SilentWhereNothingIsWrong) {
    void *const first = admit(0, 10);
    void *const second = admit(256, 20);
    std::memset(first, 0, 10);
    EXPECT_TRUE(ledger.verify("Test"));
    EXPECT_TRUE(ledger.discharge(first, 10, true, "Test"));
    EXPECT_TRUE(ledger.discharge(second, guard::any_size, true, "Test"));
    EXPECT_EQ(ledger.newest(), nullptr);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST_F(Guard, FindsEachByteWrittenAround) {
    for (const std::ptrdiff_t offset : {-8, -1, 10, 11, 25}) {
        auto *const object = static_cast<std::byte *>(admit(0, 10));
        write_anyway(object + offset, 0x5A);
        EXPECT_FALSE(ledger.discharge(object, 10, true, "Test")) << offset;
        EXPECT_EQ(MisuseLog::take(), Kinds{offset < 0 ? Misuse::underflow : Misuse::overflow});
        ledger.end_newer_than(nullptr, "Test");
        MisuseLog::take();
    }
}

TEST_F(Guard, TellsDoubleForeignAndWronglySizedFreesApart) {
    void *const object = admit(0, 10);
    EXPECT_FALSE(ledger.discharge(object, 11, true, "Test"));
    EXPECT_FALSE(ledger.discharge(object, 10, false, "Test"));
    EXPECT_TRUE(ledger.discharge(object, 10, true, "Test"));
    EXPECT_FALSE(ledger.discharge(object, 10, true, "Test"));
    EXPECT_EQ(MisuseLog::take(), (Kinds{Misuse::wrong_size, Misuse::foreign_free, Misuse::double_free}));
    // What was freed is free memory by now, and what is inside of an object has never been one.
    guard::close(memory, 256, guard::Fill::freed);
    EXPECT_FALSE(ledger.discharge(object, 10, true, "Test"));
    auto *const large = static_cast<std::byte *>(admit(256, 200));
    std::memset(large, 0, 200);
    EXPECT_FALSE(ledger.discharge(large + 64, 10, true, "Test"));
    EXPECT_EQ(MisuseLog::take(), (Kinds{Misuse::double_free, Misuse::foreign_free}));
}

TEST_F(Guard, KnowsWhatFreeMemoryWasBefore) {
    const std::pair<guard::Fill, Misuse> cases[] = {{guard::Fill::fresh, Misuse::overflow},
                                                    {guard::Fill::freed, Misuse::use_after_free},
                                                    {guard::Fill::rewound, Misuse::use_after_rewind},
                                                    {guard::Fill::reset, Misuse::use_after_reset}};
    for (const auto &[fill, misuse] : cases) {
        for (const std::size_t at : {0UL, 1UL, 63UL}) {
            guard::close(memory, 64, fill);
            write_anyway(memory + at, 0x5A);
            EXPECT_FALSE(guard::open(memory, 64, "Test"));
            EXPECT_EQ(MisuseLog::reports().at(0).address, memory + at);
            EXPECT_EQ(MisuseLog::take(), Kinds{misuse});
        }
        guard::close(memory, 64, fill);
        for (std::size_t at = 0; at < 8; ++at) write_anyway(memory + at, 0x5A);
        EXPECT_FALSE(guard::open(memory, 64, "Test"));
        EXPECT_EQ(MisuseLog::take(), Kinds{misuse});
    }
}

TEST_F(Guard, EndsAllThatIsNewer) {
    void *const first = admit(0, 10);
    admit(256, 10);
    admit(512, 10);
    ledger.end_newer_than(first, "Test");
    EXPECT_EQ(ledger.newest(), first);
    ledger.end_newer_than(nullptr, "Test");
    EXPECT_EQ(ledger.newest(), nullptr);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST_F(Guard, TakesOverAnotherLedgersObjects) {
    guard::Ledger other;
    void *const mine = admit(0, 10);
    void *const theirs = other.admit(memory + 256, 10, 16);
    ledger.splice(other);
    EXPECT_EQ(other.newest(), nullptr);
    EXPECT_EQ(ledger.newest(), theirs);
    EXPECT_TRUE(ledger.discharge(theirs, 10, true, "Test"));
    EXPECT_EQ(ledger.newest(), mine);
    ledger.splice(other);
    EXPECT_EQ(ledger.newest(), mine);
}

TEST(Misuse, EndsTheProgramWithALineThatSaysWhatAndWhere) {
    EXPECT_DEATH(reap::report_misuse({Misuse::double_free, nullptr, 64, "FixedBlock"}),
                 "reap: FixedBlock: double free at .*, 64 bytes");
    const std::string long_name(1000, 'x');
    EXPECT_DEATH(reap::report_misuse({Misuse::double_free, nullptr, 64, long_name.c_str()}), "reap: xxxx");
}

TEST(Misuse, HasItsOwnWordsForEachKind) {
    std::set<std::string> words{"misuse"};
    for (int kind = 0; kind <= static_cast<int>(Misuse::skipped_destructor); ++kind)
        EXPECT_TRUE(words.insert(reap::to_string(static_cast<Misuse>(kind))).second) << kind;
}

TEST(Misuse, HasWordsForWhatOnlyANewerLibraryReports) {
    EXPECT_STREQ(reap::to_string(static_cast<Misuse>(99)), "misuse");
}

} // namespace

const void *misuse_handler_of_guard_test() {
    return static_cast<const void *>(&reap::process::misuse_handler);
}
