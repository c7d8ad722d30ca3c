// Allocators that no preload gets in front of, by the symbols of files and the mappings of processes.
#include "attach/process/linked.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

#include <gtest/gtest.h>

#include "attach/process/mappings.h"
#include "elf/tables.h"

// Named as an allocator's own; in the table of symbols that is not dynamic.
extern "C" [[gnu::used, gnu::noinline]] void *linked_test_je_mallocx(unsigned long size, int flags) {
    return reinterpret_cast<void *>(size + static_cast<unsigned long>(flags));
}

namespace reap::native {
namespace {

// By its name: see symbols_test.cpp.
const std::string itself = std::filesystem::read_symlink("/proc/self/exe");

TEST(SymbolTables, HaveTheFunctionsOfThisProgram) {
    bool found = false;
    each_symbol_table(itself, [&](const SymbolTable &table) {
        each_defined_function(
            table, [&](std::string_view name) { found = found || name == "linked_test_je_mallocx"; });
    });
    EXPECT_TRUE(found);
}

TEST(SymbolTables, AreNoneWhereThereIsNoElfFile) {
    const auto fail = [](const SymbolTable &) { FAIL(); };
    each_symbol_table("/nowhere", fail);
    each_symbol_table("/proc/self/cmdline", fail);
    each_symbol_table("/dev/null", fail);
}

TEST(LinkedFiles, NameTheFunctionsOfTheProgram) {
    const OwnNames own{"jemalloc", "linked_test_je_"};
    const auto found = names_linked_into(itself, true);
    EXPECT_NE(std::ranges::find(found, own), found.end());
}

TEST(LinkedFiles, AreFoundInAProcess) {
    LinkedFiles files;
    const auto found = files.in(::getpid());
    const auto is_own = [](const LinkedFile &each) {
        return each.allocator == "jemalloc" && is_executed(::getpid(), each.path);
    };
    EXPECT_EQ(std::ranges::count_if(found, is_own), 1);
    EXPECT_TRUE(files.in(-1).empty());
}

TEST(LinkedFiles, LeaveTheCLibraryToThePreload) {
    for (const FileMapping &mapping : read_mappings(::getpid())) {
        if (mapping.path.find("/libc.so") == std::string::npos) continue;
        EXPECT_TRUE(names_linked_into(openable(::getpid(), mapping), false).empty());
    }
}

} // namespace
} // namespace reap::native
