// Concern: areas, peaks and savings are those of the definition, counted step by step; and a recording that
// ends anywhere, or lies, is read as far as it is sound.
#include "drag/file.h"
#include "drag/level.h"

#include <gtest/gtest.h>
#include <random>

#include "drag_builder.h"
#include "trace/block_file.h"

namespace {

using namespace reap::native;
using reap::test::DragBuilder;

constexpr uint32_t kBase = 1000;

// Of a mapping the part that goes at once; those of one have the same birth.
struct Life {
    uint64_t size;
    uint32_t stack;
    uint32_t birth;
    uint32_t last;
    uint32_t freed;
    DragKind kind;
    bool chunk;
    uint32_t used; // last, but for accesses that are part of the free
};

// Random lives, as the engine would have written them. Not all are freed, and not all of those are told of.
std::vector<Life> random_lives(DragBuilder &file, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Life> lives; // those of steps first
    std::vector<Life> parts;
    std::vector<size_t> live;
    uint32_t steps = 0;
    const auto now = [&] { return kBase + steps; };
    const auto end = [&](Life &life, unsigned kind) {
        life.freed = now();
        const auto any = [&] {
            return life.birth + static_cast<uint32_t>(random() % (life.freed - life.birth + 1));
        };
        life.last = random() % 3 == 0 ? now() : any();
        life.used = life.last;
        const bool early = life.chunk; // said before
        life.chunk = life.chunk || (life.kind == DragKind::Block && random() % 5 == 0);
        std::vector<uint64_t> numbers = {now() - life.birth, now() - life.last};
        if (kind == REAP_DRAG_FREE && life.last == now() && life.birth != now()) {
            life.used = any();
            numbers.push_back(now() - life.used);
        }
        if (life.kind == DragKind::Mapping) {
            numbers.push_back(life.size);
            kind = kind == REAP_DRAG_FREE ? REAP_DRAG_UNMAPPED : REAP_DRAG_LIVE_MAPPED;
        }
        file.event(kind, numbers, life.chunk && !early ? REAP_DRAG_CHUNK : REAP_DRAG_READ);
    };
    while (steps < 400) {
        const unsigned what = random() % 8;
        if (live.empty() || what < 3) {
            constexpr DragKind kKinds[] = {DragKind::Block, DragKind::Pooled, DragKind::Mapping};
            constexpr unsigned kEvents[] = {REAP_DRAG_ALLOC, REAP_DRAG_POOLED, REAP_DRAG_MAPPED};
            const size_t kind = random() % 3;
            const uint64_t size = random() % 5 == 0 && kind < 2 ? 0 : 1 + random() % 1000;
            const auto stack = static_cast<uint32_t>(random() % 7);
            file.event(kEvents[kind], {stack, size});
            ++steps;
            live.push_back(lives.size());
            lives.push_back({size, stack, now(), 0, 0, kKinds[kind], false, 0});
            continue;
        }
        const size_t which = random() % live.size();
        Life &life = lives[live[which]];
        if (what == 3 && life.kind != DragKind::Pooled) {
            file.event(REAP_DRAG_CARVED, {now() - life.birth});
            life.chunk = true;
        } else if (what == 4 && life.kind == DragKind::Mapping && life.size > 1) {
            Life part = life;
            part.size = 1 + random() % (life.size - 1);
            life.size -= part.size;
            end(part, REAP_DRAG_FREE);
            parts.push_back(part);
        } else if (what > 4) {
            end(life, REAP_DRAG_FREE);
            live.erase(live.begin() + static_cast<long>(which));
        }
    }
    for (const size_t which : live) {
        if (random() % 4 == 0) {
            lives[which].last = lives[which].used = lives[which].freed = now();
        } else {
            end(lives[which], REAP_DRAG_LIVE);
        }
    }
    file.event(REAP_DRAG_END, {REAP_DRAG_EXITED});
    lives.insert(lives.end(), parts.begin(), parts.end());
    return lives;
}

struct Truth {
    Area live = 0;
    Area needed = 0;
    uint64_t peak_live = 0;
    uint64_t peak_needed = 0;
    uint64_t peak_without = 0; // if the objects of stacks 2 and 3 had been freed early
};

// By the definition: at each step, who takes part in it.
Truth count(const std::vector<Life> &lives, DragLevel level, DragAccess access) {
    Truth truth;
    const auto counts = [&](const Life &life) {
        if (life.kind == DragKind::Mapping) return level == DragLevel::Chunks && life.chunk;
        return level == DragLevel::Chunks ? life.kind == DragKind::Block : !life.chunk;
    };
    for (uint32_t step = kBase + 1; step <= kBase + 400; ++step) {
        uint64_t live = 0;
        uint64_t needed = 0;
        uint64_t without = 0;
        uint64_t width = 0;
        for (const Life &life : lives) {
            if (!counts(life) || life.birth > step) continue;
            const bool lives_on = life.freed >= step;
            const bool is_needed = (access == DragAccess::All ? life.last : life.used) >= step;
            live += lives_on ? life.size : 0;
            needed += is_needed ? life.size : 0;
            without += (life.stack == 2 || life.stack == 3 ? is_needed : lives_on) ? life.size : 0;
            width += life.birth == step ? life.size : 0;
        }
        truth.live += static_cast<Area>(live) * width;
        truth.needed += static_cast<Area>(needed) * width;
        truth.peak_live = std::max(truth.peak_live, live);
        truth.peak_needed = std::max(truth.peak_needed, needed);
        truth.peak_without = std::max(truth.peak_without, without);
    }
    return truth;
}

class DragOf : public testing::TestWithParam<DragAccess> {};
INSTANTIATE_TEST_SUITE_P(Access, DragOf, testing::Values(DragAccess::All, DragAccess::BeforeFree));

TEST_P(DragOf, AgreesWithTheDefinition) {
    size_t late = 0;
    for (unsigned seed = 1; seed <= 10; ++seed) {
        DragBuilder builder(kBase);
        const std::vector<Life> lives = random_lives(builder, seed);
        const DragFile file(builder.write(), 1 + seed * seed, GetParam()); // windows of few steps and of many
        EXPECT_EQ(file.end(), DragEnd::Exited);
        EXPECT_FALSE(file.malformed());
        EXPECT_TRUE(file.released());
        for (const DragWindow &window : file.windows()) late += window.late.size();
        for (const DragLevel level : {DragLevel::Objects, DragLevel::Chunks}) {
            const Truth truth = count(lives, level, GetParam());
            const DragSummary summary(file, level, 37);
            EXPECT_TRUE(summary.totals().live == truth.live);
            EXPECT_TRUE(summary.totals().needed == truth.needed);
            EXPECT_EQ(summary.peak_live(), truth.peak_live);
            EXPECT_EQ(summary.peak_needed(), truth.peak_needed);

            Area live = 0;
            uint64_t at_peak = 0;
            std::vector<uint32_t> all;
            for (const auto &[stack, site] : summary.sites()) {
                live += site.live;
                at_peak += site.live_at_peak;
                all.push_back(stack);
            }
            EXPECT_TRUE(live == truth.live);
            EXPECT_EQ(at_peak, truth.peak_live);
            const std::vector<DragFreed> freed = summary.freed_early({all, {2, 3}, {}}, 1);
            EXPECT_EQ(freed[0].peak, truth.peak_needed);
            EXPECT_EQ(freed[1].peak, truth.peak_without);
            EXPECT_EQ(freed[2].peak, truth.peak_live);

            // The curve's stretches are equally long, so that their means are the areas again.
            double mean = 0;
            double dragged = 0;
            for (const DragBin &bin : summary.curve()) mean += bin.live / 37;
            for (const double each : freed[0].dragged) dragged += each / 37;
            const auto total = static_cast<double>(summary.totals().all.bytes);
            EXPECT_NEAR(mean * total, static_cast<double>(truth.live),
                        static_cast<double>(truth.live) * 1e-9);
            EXPECT_NEAR(dragged * total, static_cast<double>(truth.live - truth.needed),
                        static_cast<double>(truth.live) * 1e-9);
        }
    }
    EXPECT_GT(late, 100u); // objects that were needed last in another window than that of their end
}

TEST(Drag, IsReadAsFarAsItGoes) {
    DragBuilder builder(kBase);
    random_lives(builder, 3);
    const std::vector<unsigned char> whole = builder.bytes();
    size_t before = 0;
    for (size_t size = sizeof(reap_drag_header); size + 1 < whole.size(); size += 17) { // END is two bytes
        DragBuilder part(kBase);
        part.bytes().assign(whole.begin(), whole.begin() + static_cast<long>(size));
        const DragFile file(part.write());
        EXPECT_EQ(file.end(), DragEnd::Killed);
        EXPECT_GE(file.objects(), before);
        before = file.objects();
        const DragSummary summary(file, DragLevel::Objects, 5);
        EXPECT_TRUE(summary.totals().live >= summary.totals().needed);
    }
    EXPECT_GT(before, 200u);
}

// A process may outlive the command that is measured, and write while its recording is read.
TEST(Drag, WhatChangesWhileItIsReadIsReadAsItWas) {
    DragBuilder builder;
    for (int i = 0; i < 400000; ++i) builder.event(REAP_DRAG_ALLOC, {1, 100}).event(REAP_DRAG_FREE, {0, 0});
    const std::string path = builder.write();
    const DragFile file(path);
    const std::vector<unsigned char> more = {REAP_DRAG_ALLOC, 1, 100};
    std::FILE *writer = std::fopen(path.c_str(), "r+b");
    ASSERT_NE(writer, nullptr);
    ASSERT_EQ(std::fseek(writer, -6, SEEK_END), 0);
    std::fwrite(more.data(), 1, more.size(), writer);
    ASSERT_EQ(std::fclose(writer), 0);
    EXPECT_EQ(DragSummary(file, DragLevel::Objects, 4).totals().all.objects, 400000u);
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(builder.bytes().size() - (1 << 19))), 0);
    const DragSummary summary(file, DragLevel::Objects, 4);
    EXPECT_EQ(summary.totals().all.objects, 400000u);
    EXPECT_TRUE(summary.totals().live == summary.totals().needed);
}

// Longer than the reader's buffer, with records of a megabyte that lie across its end.
TEST(Drag, ALongRecordingIsReadInParts) {
    DragBuilder builder;
    const std::string words(1 << 20, 'x');
    for (uint64_t i = 0; i < 40; ++i) {
        builder.event(REAP_DRAG_ALLOC, {1, 100}).event(REAP_DRAG_MODULE, {i, words.size()});
        builder.bytes().insert(builder.bytes().end(), words.begin(), words.end());
    }
    const DragFile file(builder.write());
    EXPECT_FALSE(file.malformed());
    EXPECT_EQ(file.objects(), 40u);
    for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(file.module(i), words);
    EXPECT_EQ(DragSummary(file, DragLevel::Objects, 4).totals().all.objects, 40u);
}

// Nobody but an engine may write to a recording while it is read: one that loses more than that is refused.
TEST(Drag, ARecordingThatIsCutShortWhileItIsReadIsRefused) {
    DragBuilder builder;
    for (int i = 0; i < 400000; ++i) builder.event(REAP_DRAG_ALLOC, {1, 100}).event(REAP_DRAG_FREE, {0, 0});
    ASSERT_GT(builder.bytes().size(), size_t{1} << 21);
    const std::string path = builder.write();
    const DragFile file(path);
    for (const off_t size : {off_t{1} << 20, off_t{100}, off_t{0}}) {
        ASSERT_EQ(::truncate(path.c_str(), size), 0);
        EXPECT_THROW(DragSummary(file, DragLevel::Objects, 4), BadTrace) << size;
    }
}

TEST(Drag, WhatMakesNoSenseIsDamage) {
    const std::vector<std::pair<unsigned, std::vector<uint64_t>>> lies = {
        {REAP_DRAG_FREE, {1, 0}},                  // born before the file
        {REAP_DRAG_FREE, {0, 1}},                  // accessed before its birth
        {REAP_DRAG_ALLOC, {1, UINT64_C(1) << 60}}, // larger than any address space
        {REAP_DRAG_STACK, {1, 5000, 0}},           // deeper than any
        {REAP_DRAG_MODULE, {1, 1000}},             // longer than the file
        {REAP_DRAG_UNMAPPED, {0, 0, 100}},         // no mapping
        {REAP_DRAG_CARVED, {1}},
        {15, {}},
    };
    for (const auto &[kind, numbers] : lies) {
        DragBuilder builder;
        builder.event(REAP_DRAG_ALLOC, {1, 100}).event(kind, numbers);
        const DragFile file(builder.write());
        EXPECT_TRUE(file.malformed()) << kind;
        EXPECT_EQ(file.objects(), 1u) << kind;
    }
    DragBuilder other;
    other.bytes()[0] = 'x';
    EXPECT_THROW(DragFile(other.write()), BadTrace);
}

// The third number is there where an older object was accessed in the step of its free, and nowhere else.
TEST(Drag, AccessesThatArePartOfAFreeAreTold) {
    for (const bool before : {false, true}) {
        DragBuilder builder;
        builder.event(REAP_DRAG_ALLOC, {1, 100})
            .event(REAP_DRAG_ALLOC, {1, 10})
            .event(REAP_DRAG_ALLOC, {1, 1});
        builder.event(REAP_DRAG_FREE, {2, 0, 1}).event(REAP_DRAG_FREE, {1, 1}).event(REAP_DRAG_FREE, {0, 0});
        const DragFile file(builder.write(), 1, before ? DragAccess::BeforeFree : DragAccess::All);
        EXPECT_FALSE(file.malformed());
        EXPECT_TRUE(file.released());
        const DragSummary summary(file, DragLevel::Objects, 4);
        // Needed in all three steps, or in the first two; 10 bytes in their own step; 1 byte in its own.
        EXPECT_EQ(summary.totals().released.bytes, before ? 0u : 100u);
        EXPECT_TRUE(summary.totals().needed == (before ? 100 * 110 : 100 * 111) + 10 * 10 + 1);
    }
    DragBuilder lie;
    lie.event(REAP_DRAG_ALLOC, {1, 100}).event(REAP_DRAG_ALLOC, {1, 10}).event(REAP_DRAG_FREE, {1, 0, 2});
    EXPECT_TRUE(DragFile(lie.write()).malformed());
}

TEST(Drag, AnExecThatFailedEndsNothing) {
    DragBuilder builder;
    builder.event(REAP_DRAG_ALLOC, {1, 100});
    builder.event(REAP_DRAG_LIVE, {0, 0}).event(REAP_DRAG_END, {REAP_DRAG_EXEC}).event(REAP_DRAG_RESUME, {});
    builder.event(REAP_DRAG_ALLOC, {1, 50});
    const DragFile file(builder.write());
    EXPECT_EQ(file.end(), DragEnd::Killed);
    EXPECT_EQ(DragSummary(file, DragLevel::Objects, 4).peak_live(), 150u);
}

} // namespace
