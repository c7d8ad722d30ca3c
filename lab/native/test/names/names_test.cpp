// Concern: an address has the name that the trace keeps, else that of the file that was recorded, and never
// that of another build; names are added to a complete trace alone, and nothing of it changes.
#include "names/keep.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "../trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;

constexpr uint64_t kStart = 0x10000000;

std::string itself() { return std::filesystem::read_symlink("/proc/self/exe"); }

// Where this program has a function of its own.
uint64_t known_address(Symbolizer &symbols) {
    return symbols.named(itself(), {"main"}).at(0).second.begin + 1;
}

Payload image_with(const std::string &path, const std::string &build_id, uint64_t address) {
    Payload out;
    out.image(-1, 0, "/bin/prog").module(path, build_id, kStart, UINT64_C(1) << 40);
    return out.frame(1, kStart + address + 1, 0);
}

struct Read {
    explicit Read(const std::string &path)
        : file(path), definitions(file), files(symbols, file.began_unix_ns()),
          names(definitions, symbols, files) {}

    // The name of the only frame.
    SourceFrame first() {
        const Module *const module = definitions.module_of(0, 1);
        return names.resolve(*module, definitions.frame(0, 1)->address - 1 - module->bias).at(0);
    }

    BlockFile file;
    Definitions definitions;
    Symbolizer symbols;
    ModuleFiles files;
    ModuleNames names;
};

TEST(ModuleNames, AreThoseThatTheTraceHas) {
    TraceBuilder trace;
    Payload image = image_with("/gone/prog", "id", 0x500);
    image.string(3, "/gone/prog").string(4, "id").string(9, "shop::buy").string(10, "other");
    image.name(3, 0, 0x500, 10).name(3, 4, 0x500, 10).name(3, 4, 0x500, 9); // another build's, then twice
    trace.block(REAP_BLOCK_DEFINITIONS, {}, image);
    Read read(trace.write());
    EXPECT_EQ(read.first().function, "shop::buy");
    EXPECT_EQ(read.first().line, 7);
    EXPECT_TRUE(read.names.uncertain().empty());
}

TEST(ModuleNames, AreNotThoseOfAnotherBuild) {
    Symbolizer symbols;
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, image_with(itself(), "another", known_address(symbols)));
    Read read(trace.write());
    EXPECT_EQ(read.first().function, "");
    ASSERT_EQ(read.names.uncertain().size(), 1U);
    EXPECT_EQ(read.names.uncertain()[0].path, itself());
    EXPECT_EQ(read.names.uncertain()[0].naming, Naming::OtherBuild);
}

TEST(ModuleNames, AreThoseOfTheSameBuild) {
    Symbolizer symbols;
    const std::string id = symbols.build_id(itself());
    if (id.empty()) GTEST_SKIP() << "linked without a build id";
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, image_with(itself(), id, known_address(symbols)));
    Read read(trace.write());
    EXPECT_EQ(read.first().function, "main");
    EXPECT_TRUE(read.names.uncertain().empty());
}

TEST(ModuleNames, WithoutABuildIdDependOnWhenTheFileChanged) {
    Symbolizer symbols;
    for (const bool before : {true, false}) {
        TraceBuilder trace;
        trace.header().start_unix_ns = before ? UINT64_MAX / 2 : 1;
        // A file that is no ELF file has no build id, as this one may have.
        trace.block(REAP_BLOCK_DEFINITIONS, {}, image_with(itself(), "", known_address(symbols)));
        Read read(trace.write());
        EXPECT_EQ(read.first().function, before ? "main" : "");
        EXPECT_EQ(read.names.uncertain().size(), before ? 0U : 1U);
    }
}

TEST(ModuleNames, OfAnEarlierVersionAreThoseOfTheFileAndMayBeFalse) {
    Symbolizer symbols;
    const uint64_t address = known_address(symbols);
    TraceBuilder trace;
    trace.header().version = REAP_TRACE_OLDEST;
    trace.header().start_unix_ns = 1; // the file has changed since
    Payload image;
    image.image(-1, 0, "/bin/prog");
    image.record(REAP_TAG_MODULE,
                 Payload().number(0).number(kStart).number(UINT64_C(1) << 40).number(kStart).text(itself()));
    trace.block(REAP_BLOCK_DEFINITIONS, {}, image.frame(1, kStart + address + 1, 0));
    const std::string path = trace.write();
    Read read(path);
    EXPECT_EQ(read.first().function, "main");
    ASSERT_EQ(read.names.uncertain().size(), 1U);
    EXPECT_EQ(read.names.uncertain()[0].naming, Naming::Unchecked);
    EXPECT_EQ(keep_names(path, {}).kept, 0U); // what may be false is not kept
}

TEST(KeepNames, AddsThemToACompleteTraceOnce) {
    Symbolizer symbols;
    TraceBuilder trace;
    trace.header().start_unix_ns = UINT64_MAX / 2;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, image_with(itself(), "", known_address(symbols)));
    const std::string path = trace.write();
    const KeepOutcome kept = keep_names(path, {});
    EXPECT_TRUE(kept.complete);
    EXPECT_EQ(kept.kept, 1U);
    const auto size = std::filesystem::file_size(path);
    EXPECT_EQ(keep_names(path, {}).kept, 0U);
    EXPECT_EQ(std::filesystem::file_size(path), size);
    Read read(path);
    EXPECT_EQ(read.file.blocks().size(), 2U);
    EXPECT_GE(read.definitions.kept().strings().size(), 2U);
    EXPECT_EQ(read.first().function, "main");
}

TEST(KeepNames, LeavesATraceThatIsStillWrittenTo) {
    Symbolizer symbols;
    TraceBuilder trace;
    trace.header().finished = 0;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, image_with(itself(), "", known_address(symbols)));
    const std::string path = trace.write();
    const auto size = std::filesystem::file_size(path);
    EXPECT_FALSE(keep_names(path, {}).complete);
    EXPECT_EQ(std::filesystem::file_size(path), size);
}

TEST(KeptNames, LeaveOutWhatMakesNoSense) {
    TraceBuilder trace;
    Payload image = image_with("/gone/prog", "", 0x500);
    image.string(0, "none").name(1, 0, 0x500, 1); // no such string
    image.string(1, "/gone/prog")
        .record(REAP_TAG_NAMES, Payload().number(99).number(1)); // of a later version
    Payload endless;
    endless.number(REAP_NAMES_ADDRESS).number(1).number(0).number(0x500).number(UINT64_MAX).number(1);
    trace.block(REAP_BLOCK_DEFINITIONS, {}, image);
    trace.block(REAP_BLOCK_DEFINITIONS, {0, 0, 1}, Payload().record(REAP_TAG_NAMES, endless));
    Read read(trace.write());
    EXPECT_EQ(read.first().function, "");
    EXPECT_EQ(read.definitions.kept().module("/gone/prog", ""), nullptr);
    EXPECT_EQ(read.file.damage().malformed, 1U);
}

} // namespace
