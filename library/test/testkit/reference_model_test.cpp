#include "reap/testkit/reference_model.h"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory_resource>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "broken_subjects.h"

namespace {

using reap::test::broken;
using reap::test::Fault;
using reap::testkit::check;
using reap::testkit::Operation;

/// What was found, or nothing.
std::string said(const std::optional<reap::testkit::Finding> &finding) {
    return finding ? finding->to_string() : std::string();
}

struct Expected {
    Fault fault;
    const char *said;
    // Or its padding would be printed, which memcheck finds.
    friend std::ostream &operator<<(std::ostream &out, const Expected &expected) {
        return out << expected.said;
    }
};

class ReferenceModel : public testing::TestWithParam<Expected> {};

TEST_P(ReferenceModel, FindsTheFault) {
    const auto finding = check(broken(GetParam().fault), 1, 200000);
    if (!finding) FAIL() << "nothing was found";
    EXPECT_NE(finding->to_string().find(GetParam().said), std::string::npos) << finding->to_string();

    // The seed shows it again, and so does what is left of the operations, of which none can be spared.
    const auto again = check(broken(GetParam().fault), finding->seed, 1);
    if (!again) FAIL() << "the seed does not show it again";
    EXPECT_EQ(again->step, finding->step);
    std::size_t step = 0;
    EXPECT_NE(live_through(broken(GetParam().fault), finding->operations, step), "");
    EXPECT_LE(finding->operations.size(), 25U) << finding->to_string();
}

INSTANTIATE_TEST_SUITE_P(Faults, ReferenceModel,
                         testing::Values(Expected{Fault::overlaps, "overlaps"},
                                         Expected{Fault::misaligns, "is misaligned"},
                                         Expected{Fault::wraps, "was met, which cannot be"},
                                         Expected{Fault::forgets_to_throw, "has to throw"},
                                         Expected{Fault::owns_too_much, "somebody else"},
                                         Expected{Fault::scribbles, "changed its contents"},
                                         Expected{Fault::leaks, "never returned"},
                                         Expected{Fault::gives_back_wrong, "a wrong size"},
                                         Expected{Fault::loses_on_failure, "changed its contents"},
                                         Expected{Fault::shrinks_wrong, "by its own resizing"},
                                         Expected{Fault::rewinds_too_far, "changed its contents"}));

TEST(ReferenceModel, IsSilentWhereNothingIsWrong) {
    const auto finding =
        check(reap::testkit::factory([](auto &upstream) {
                  return reap::testkit::SourceSubject<reap::Ref<reap::testkit::FailingSource<>>>(upstream);
              }),
              1, 100000);
    EXPECT_EQ(said(finding), "");
}

/// A resource over an upstream that fails now and then. Not libstdc++'s pools: its blocks of 24 bytes are
/// misaligned for 16 of alignment, which is the first thing that the model finds.
struct Monotonic {
    explicit Monotonic(reap::testkit::FailingSource<> &source) : upstream(source), subject(&upstream) {}
    reap::Allocation allocate(std::size_t size, std::size_t alignment) {
        return subject.allocate(size_of(size), alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) {
        subject.deallocate(data, size_of(size), alignment);
    }
    void reset() { subject.reset(); }
    /// libc++'s resource gives an allocation of 0 bytes the address of the next one.
    static std::size_t size_of(std::size_t size) {
#if defined(_LIBCPP_VERSION)
        return size + (size == 0);
#else
        return size;
#endif
    }
    static reap::testkit::Limits limits() {
        return reap::testkit::ResourceSubject<std::pmr::monotonic_buffer_resource>::limits();
    }

    reap::testkit::FailingResource upstream;
    reap::testkit::ResourceSubject<std::pmr::monotonic_buffer_resource> subject;
};

TEST(ReferenceModel, DrivesMemoryResources) {
    const auto finding =
        check(reap::testkit::factory([](auto &upstream) { return Monotonic(upstream); }), 1, 50000);
    EXPECT_EQ(said(finding), "");
}

TEST(ReferenceModel, SeesEveryByteOfAnObject) {
    for (const std::size_t size : {1U, 7U, 8U, 9U, 100U, 4096U}) {
        std::vector<std::byte> memory(size);
        const reap::testkit::Object object{memory.data(), size, size, 1, 17};
        reap::testkit::ReferenceModel::fill(object);
        EXPECT_TRUE(reap::testkit::ReferenceModel::is_intact(object));
        for (auto &byte : memory) {
            byte ^= std::byte{1};
            EXPECT_FALSE(reap::testkit::ReferenceModel::is_intact(object));
            byte ^= std::byte{1};
        }
    }
}

// Of a large object some words are filled: of what is left of it those, and no others, can be looked at.
TEST(ReferenceModel, LooksAtWhatItFilledOfALargeObjectThatShrank) {
    std::vector<std::byte> memory(65544);
    const reap::testkit::Object object{memory.data(), memory.size(), memory.size(), 1, 17};
    reap::testkit::ReferenceModel::fill(object);
    for (const std::size_t kept : {1U, 4093U, 16398U, 40000U, 65544U}) {
        EXPECT_TRUE(reap::testkit::ReferenceModel::is_intact(object, kept)) << kept;
    }
    memory[4090] ^= std::byte{1};
    EXPECT_FALSE(reap::testkit::ReferenceModel::is_intact(object, 4093));
    EXPECT_TRUE(reap::testkit::ReferenceModel::is_intact(object, 4090));
}

TEST(Operations, AreTheSameForASeed) {
    reap::testkit::Operations first(7);
    reap::testkit::Operations second(7);
    std::uint64_t seen = 0;
    for (int i = 0; i < 10000; ++i) {
        const Operation a = first();
        const Operation b = second();
        EXPECT_EQ(to_string(a), to_string(b));
        seen |= std::uint64_t{1} << a.kind;
    }
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        reap::testkit::Operations more(seed);
        for (int i = 0; i < 1000; ++i) seen |= std::uint64_t{1} << more().kind;
    }
    EXPECT_EQ(seen, (std::uint64_t{1} << Operation::kinds) - 1);
}

TEST(Operations, ComeOutOfAnyBytes) {
    std::vector<std::uint8_t> bytes(9 * 3 + 5, 0xFF);
    bytes[0] = Operation::reset;
    std::vector<Operation> all;
    reap::testkit::for_each_operation(bytes, [&](const Operation &operation) {
        all.push_back(operation);
        return true;
    });
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].kind, Operation::reset);
    EXPECT_EQ(all[2].first, 0xFFFFFFFFU);
    EXPECT_LT(all[2].kind, Operation::kinds);
}

} // namespace
