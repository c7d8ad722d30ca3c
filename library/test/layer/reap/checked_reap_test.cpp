// Reap in checked mode: what it finds.

#include "reap/layer/reap.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "layer/reap/small_reap.h"
#include "misuse_log.h"
#include "speaker.h"

namespace {

using reap::Misuse;
using reap::Reap;
using Kinds = std::vector<Misuse>;

TEST(CheckedReap, FindsMisuse) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    auto *const object = static_cast<unsigned char *>(reap.allocate(100));
    (void)reap.allocate(40);
    const auto said = [object](Misuse what, std::size_t size) {
        const auto reports = MisuseLog::reports();
        MisuseLog::take();
        return reports.size() == 1 && reports[0].what == what && reports[0].address == object &&
               reports[0].size == size;
    };
    reap.deallocate(object, 101);
    EXPECT_TRUE(said(Misuse::wrong_size, 100));
    for (const std::size_t inside : {1U, 8U, 16U, 64U, 99U}) {
        reap.deallocate(object + inside);
        EXPECT_TRUE(said(Misuse::interior_free, 100)) << inside;
        fill(object, 1, 100);
    }
    reap.deallocate(object);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
    reap.deallocate(object);
    EXPECT_TRUE(said(Misuse::double_free, 0));
    int stranger = 0;
    reap.deallocate(&stranger);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});

    Reap other;
    void *const theirs = other.allocate(10);
    reap.deallocate(theirs);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});

    write_anyway(object + 50, 1);
    for (int number = 0; number < 100; ++number) (void)reap.allocate(100); // now or later it is used again
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});

    void *const last = reap.allocate(100);
    reap.reset();
    reap.deallocate(last);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free}) << "a free after the reset";
}

TEST(CheckedReap, FindsCorruptionAndDoesNotFollowIt) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    constexpr std::size_t in_front = 48; // of an object, in checked mode
    for (int byte = 0; byte < 256; ++byte) {
        Reap reap;
        std::vector<unsigned char *> objects(50);
        for (auto &object : objects) object = static_cast<unsigned char *>(reap.allocate(100));
        unsigned char *const shadow = shadow_of(objects[25] - in_front);
        const unsigned char before = *shadow;
        if (byte == before) continue;
        *shadow = static_cast<unsigned char>(byte);
        reap.deallocate(objects[25]);
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption}) << byte;
        EXPECT_FALSE(reap.check()) << byte;
        MisuseLog::take();
        *shadow = before;
        EXPECT_TRUE(reap.check()) << byte;
        reap.deallocate(objects[25]);
        EXPECT_EQ(MisuseLog::take(), Kinds{}) << byte;
    }
}

TEST(CheckedReap, FindsALinkThatWasOverwritten) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    constexpr std::size_t in_front = 48;
    Reap reap;
    std::vector<unsigned char *> objects(50);
    for (auto &object : objects) object = static_cast<unsigned char *>(reap.allocate(100));
    for (std::size_t at = 10; at < 20; ++at) reap.deallocate(objects[at]);
    for (std::size_t at = 0; at < 8; ++at) write_anyway(objects[19] - in_front + at, 0x41);
    EXPECT_FALSE(reap.check());
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption});
    // The block itself is good, and what it leads to is given up.
    for (int number = 0; number < 200; ++number) fill(reap.allocate(100), 1, 100);
    const auto reports = MisuseLog::take();
    EXPECT_GE(reports.size(), 1U);
    EXPECT_EQ(reports.front(), Misuse::corruption);
}

/// What a reap writes among its objects.
enum class Record { chunk, chunk_in_a_circle, spare_chunk, large, mark, ledger };

class CheckedReapRecord : public ::testing::TestWithParam<Record> {
  protected:
    static constexpr std::size_t in_front = 48;   // of an object: its guard
    static constexpr std::size_t chunk_lead = 48; // of a chunk
    static constexpr std::size_t large_lead = 56; // of a large object's block

    /// Writes over a record that a list goes through, the first word of which is a link.
    void write_over(Reap<> &reap, const std::vector<std::byte *> &objects) {
        std::byte *const chunk = objects.back() - in_front - chunk_lead;
        switch (GetParam()) {
        case Record::chunk_in_a_circle:
            write(chunk, static_cast<const void *>(&chunk), sizeof chunk);
            write(chunk + 16, "\0\0\0\0\0\0\0", 8); // the size
            break;
        case Record::spare_chunk:
            reap.reset();
            [[fallthrough]];
        case Record::chunk:
            write(chunk, "AAAAAAAA", 8);
            break;
        case Record::large:
            write(large_ - in_front - large_lead, "AAAAAAAA", 8);
            break;
        case Record::mark: {
            std::byte *record = nullptr;
            std::memcpy(static_cast<void *>(&record), &mark_, sizeof record);
            write(record, "AAAAAAAA", 8);
            break;
        }
        case Record::ledger:
            write(objects[100] - 40, "AAAAAAAA", 8);
            break;
        }
    }
    static void write(std::byte *place, const void *bytes, std::size_t size) {
        for (std::size_t at = 0; at < size; ++at)
            write_anyway(place + at, static_cast<const unsigned char *>(bytes)[at]);
    }

    std::byte *large_ = nullptr;
    Reap<>::Mark mark_;
};

TEST_P(CheckedReapRecord, ThatWasWrittenOverIsFoundAndNotFollowed) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap({.growth = 1}); // chunks of 8 KB
    std::vector<std::byte *> objects;
    while (objects.size() < 1000 ||
           reinterpret_cast<std::uintptr_t>(objects.back()) % 8192 != in_front + chunk_lead)
        objects.push_back(static_cast<std::byte *>(reap.allocate(100)));
    large_ = static_cast<std::byte *>(reap.allocate(3 << 20));
    mark_ = reap.mark();
    (void)reap.allocate(100);
    write_over(reap, objects);

    EXPECT_FALSE(reap.check());
    const Kinds reports = MisuseLog::take();
    ASSERT_FALSE(reports.empty());
    EXPECT_EQ(reports.front(), GetParam() == Record::ledger ? Misuse::underflow : Misuse::corruption);
    (void)reap.owns(objects[0]);
    (void)reap.statistics();
    reap.for_each([](void * /*object*/, std::size_t /*size*/) {});
    MisuseLog::take();
    fill(reap.allocate(100), 1, 100);
    for (const std::size_t near : {1U, 99U, 101U}) { // in its list, too
        reap.deallocate(objects[near] + 8);
        reap.deallocate(objects[near]);
    }
    (void)reap.rewind(mark_);
    reap.trim();
    reap.reset();
    MisuseLog::take();
    EXPECT_TRUE(reap.check()) << "it starts again";
    for (int number = 0; number < 1000; ++number) fill(reap.allocate(100), 1, 100);
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

INSTANTIATE_TEST_SUITE_P(Of, CheckedReapRecord,
                         ::testing::Values(Record::chunk, Record::chunk_in_a_circle, Record::spare_chunk,
                                           Record::large, Record::mark, Record::ledger));

TEST(CheckedReap, RunsNoDestructorThatWasWrittenOver) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    struct Named {
        char name[8];
        ~Named() { name[0] = 0; }
    };
    const MisuseLog log;
    for (const bool by_destroy : {false, true}) {
        Reap reap;
        std::string said;
        (void)reap.create<Speaker>(said, 'a');
        Named *const named = reap.create<Named>();
        for (std::size_t at = 8; at < 32; ++at) // behind it is what runs its destructor
            write_anyway(reinterpret_cast<std::byte *>(named) + at, 0x41);
        EXPECT_FALSE(reap.check());
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption});
        if (by_destroy) reap.destroy(named);
        reap.reset();
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption});
        EXPECT_EQ(said, "") << "nobody knows whether it is still there";
    }
}

TEST(CheckedReap, FindsAFreeInsteadOfADestroy) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    std::string said;
    Speaker *const speaker = reap.create<Speaker>(said, 'a');
    reap.deallocate(speaker);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::skipped_destructor});
    (void)reap.nest();
    int refused = 0;
    reap.for_each([&](void *object, std::size_t /*size*/) { reap.deallocate(object), ++refused; });
    EXPECT_EQ(refused, 2);
    EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::skipped_destructor));
    reap.reset();
    EXPECT_EQ(said, "a");
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(CheckedReap, FindsWhatIsReallocatedAfterItsFree) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    void *const object = reap.allocate(100);
    reap.deallocate(object);
    void *const other = reap.reallocate(object, 100); // may well stand there: it is another one
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    fill(other, 1, 100);
    std::size_t live = 0;
    reap.for_each([&](void *each, std::size_t /*size*/) { live += each == other; });
    EXPECT_EQ(live, 1U);
    reap.deallocate(other);
    EXPECT_FALSE(reap.resize(other, 100));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    alignas(64) static std::byte stranger[256];
    EXPECT_FALSE(reap.resize(stranger + 64, 100));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
}

TEST(CheckedReap, NamesTheObjectWhoseGuardsAreFreed) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    auto *const object = static_cast<std::byte *>(reap.allocate(64));
    for (const std::ptrdiff_t off : {-48, -16, 64}) {
        reap.deallocate(object + off);
        const auto reports = MisuseLog::reports();
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::interior_free}) << off;
        EXPECT_EQ(reports.front().address, object) << off;
    }
}

TEST(CheckedReap, FindsADestroyAfterTheDestroy) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    std::string said;
    Speaker *const speaker = reap.create<Speaker>(said, 'a');
    reap.destroy(speaker);
    reap.destroy(speaker);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    EXPECT_EQ(said, "a");
}

TEST(CheckedReap, RewindsPastAGuardThatWasWrittenOver) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    void *const older = reap.allocate(100);
    const auto mark = reap.mark();
    std::vector<std::byte *> newer(5);
    for (auto &object : newer) object = static_cast<std::byte *>(reap.allocate(100));
    for (std::size_t at = 1; at <= 40; ++at) write_anyway(newer[2] - at, 0x41);
    EXPECT_TRUE(reap.rewind(mark));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::underflow});
    reap.deallocate(older);
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(CheckedReap, EndsWhatIsBesideADestructorThatWasWrittenOver) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    std::string said;
    Reap reap;
    (void)reap.mark();
    Speaker *const older = reap.create<Speaker>(said, 'a');
    Speaker *const broken = reap.create<Speaker>(said, 'b');
    for (std::size_t at = sizeof(Speaker); at < sizeof(Speaker) + 24; ++at)
        write_anyway(reinterpret_cast<std::byte *>(broken) + at, 0x41);
    Speaker *const newer = reap.create<Speaker>(said, 'c');
    void *const plain = reap.allocate(100);
    reap.deallocate(plain);
    reap.destroy(older);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
    reap.destroy(broken);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption});
    (void)newer; // nobody knows of it any more
    reap.reset();
    EXPECT_EQ(said, "a");
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(CheckedReap, TrimsAndResetsWithWhatWasWrittenOver) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    constexpr std::size_t in_front = 48;
    Reap reap;
    std::vector<std::byte *> objects(50);
    for (auto &object : objects) object = static_cast<std::byte *>(reap.allocate(100));
    for (std::size_t at = 10; at < 20; ++at) reap.deallocate(objects[at]);
    for (std::size_t at = 0; at < 8; ++at) write_anyway(objects[15] - in_front + at, 0x41); // a link
    reap.trim();
    EXPECT_FALSE(MisuseLog::take().empty());
    reap.reset();
    MisuseLog::take();
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

} // namespace
