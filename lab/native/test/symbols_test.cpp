// symbols/symbols.h, on this program itself: what Python tests of whole recordings see of it is far from
// here.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <elf.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "files/file.h"
#include "scratch_file.h"
#include "symbols/symbols.h"

namespace symbols_test {

// NOLINTNEXTLINE(readability-identifier-naming): what Rust's older mangling makes of server::main
extern "C" [[gnu::noinline, gnu::used]] int _ZN6server4main17h0123456789abcdefE() { return 1; }

extern "C" {
[[gnu::used]] int variable_of_this_program = 1;
}

[[gnu::noinline, gnu::used]] int function_of_this_program(int number) {
    return std::abs(number) + static_cast<int>(::getppid());
}

} // namespace symbols_test

namespace {

using reap::native::Symbolizer;

// By its name: under valgrind the link leads to valgrind, but where it is read or opened whole.
const std::string own_file = std::filesystem::read_symlink("/proc/self/exe");
const std::string mangled = "_ZN12symbols_test24function_of_this_programEi";

TEST(Symbolizer, FindsAFunctionByItsNameAndBack) {
    Symbolizer symbols;
    const auto found = symbols.named(own_file, {mangled});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].first, mangled);
    const auto [begin, end] = found[0].second;
    ASSERT_LT(begin, end);
    EXPECT_EQ(symbols.function(own_file, begin), "symbols_test::function_of_this_program(int)");
    EXPECT_EQ(symbols.function(own_file, end - 1), "symbols_test::function_of_this_program(int)");
    EXPECT_EQ(symbols.address_at(own_file, symbols.offset_at(own_file, begin)), begin);
    const auto ranges = symbols.functions(own_file, {mangled.substr(0, 20) + "*"});
    EXPECT_TRUE(std::ranges::any_of(ranges, [&](const auto &range) { return range.begin == begin; }));
}

TEST(Symbolizer, FindsVariablesByTheirNames) {
    Symbolizer symbols;
    const auto found = symbols.objects(own_file, {"variable_of_this_program", mangled});
    ASSERT_EQ(found.size(), 1U); // a function is none
    const auto functions = symbols.named(own_file, {mangled});
    ASSERT_EQ(functions.size(), 1U);
    EXPECT_EQ(found.begin()->second - functions[0].second.begin,
              reinterpret_cast<std::uintptr_t>(&symbols_test::variable_of_this_program) -
                  reinterpret_cast<std::uintptr_t>(&symbols_test::function_of_this_program));
}

TEST(Symbolizer, DemanglesRust) {
    Symbolizer symbols;
    const auto found = symbols.named(own_file, {"_ZN6server4main17h0123456789abcdefE"});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(symbols.function(own_file, found[0].second.begin), "server::main");
}

TEST(Symbolizer, KnowsTheLineOfAFunctionWhereThereIsDebugInformation) {
    Symbolizer symbols;
    const auto found = symbols.named(own_file, {mangled});
    ASSERT_EQ(found.size(), 1U);
    const auto &frames = symbols.resolve(own_file, found[0].second.begin);
    ASSERT_FALSE(frames.empty());
    EXPECT_NE(frames.back().function.find("function_of_this_program"), std::string::npos);
    if (!frames.back().file.empty()) {
        EXPECT_TRUE(frames.back().file.ends_with("symbols_test.cpp"));
        EXPECT_GT(frames.back().line, 10);
    }
    EXPECT_EQ(&symbols.resolve(own_file, found[0].second.begin), &frames); // looked up once
}

TEST(Symbolizer, FindsTheSlotOfAnImportedFunction) {
    Symbolizer symbols;
    const auto slots = symbols.slots(own_file, "getppid");
    for (const std::uint64_t slot : slots) EXPECT_EQ(symbols.imported(own_file, slot), "getppid");
    EXPECT_TRUE(symbols.slots(own_file, "no_function_has_this_name").empty());
    EXPECT_EQ(symbols.imported(own_file, 1), "");
}

TEST(Symbolizer, KnowsWhereAnAllocatorsOwnCodeIs) {
    Symbolizer symbols;
    const auto found = symbols.malloc_ranges("/lib/x86_64-linux-gnu/libc.so.6");
    ASSERT_FALSE(found.empty());
    EXPECT_LT(found[0].begin, found[0].end);
    EXPECT_TRUE(symbols.malloc_ranges(own_file).empty());
}

TEST(Symbolizer, HasNoNamesOfWhatIsNoElfFile) {
    Symbolizer symbols;
    for (const std::string path : {"/no/such/file", "/etc/passwd"}) {
        EXPECT_EQ(symbols.function(path, 1), "");
        ASSERT_EQ(symbols.resolve(path, 1).size(), 1U);
        EXPECT_EQ(symbols.resolve(path, 1)[0].function, "");
        EXPECT_TRUE(symbols.named(path, {mangled}).empty());
        EXPECT_TRUE(symbols.malloc_ranges(path).empty());
    }
}

TEST(Symbolizer, BlamesNoFileWhereNoReaderCanBeStarted) {
    if (reap::native::is_watched()) GTEST_SKIP() << "this process reads by itself";
    Symbolizer symbols;
    rlimit files{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
    const rlimit none{0, files.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    for (const char *const path : {"/one", "/two", "/three", "/four"}) EXPECT_FALSE(symbols.opens(path));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
    EXPECT_EQ(symbols.failed().size(), 4U);
    EXPECT_TRUE(symbols.opens(own_file));
}

TEST(Symbolizer, GivesItsReaderNoCoreDump) {
    const reap::test::ScratchFile file;
    std::vector<unsigned char> bytes = {0x7f, 'E', 'L', 'F'};
    bytes.resize(64);
    bytes[EI_NIDENT] = ET_DYN;
    EXPECT_GE(reap::native::Descriptor(reap::native::open_with_names(file.write(bytes))).get(), 0);
    for (const int byte : {0, 1}) { // of the type, in either order
        bytes[EI_NIDENT] = bytes[EI_NIDENT + 1] = 0;
        bytes[static_cast<size_t>(EI_NIDENT + byte)] = ET_CORE;
        EXPECT_EQ(reap::native::open_with_names(file.write(bytes)), -1);
        EXPECT_EQ(errno, EACCES);
    }
    EXPECT_EQ(reap::native::open_with_names("/etc/passwd"), -1);
}

} // namespace
