// Concern: programs that a littered one executes start as they would without, and no other byte of the
// environment moves.
#include "environment.h"

#include <array>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

using reap::preload::find_variable;
using reap::preload::remove_traces;

// The file that remove_traces takes for its own: here, this test.
std::string self() {
    Dl_info info{};
    dladdr(reinterpret_cast<const void *>(&remove_traces), &info);
    return info.dli_fname;
}

std::vector<std::string> after_removal(std::vector<std::string> entries) {
    std::vector<char *> environment;
    environment.reserve(entries.size() + 1);
    for (std::string &entry : entries) environment.push_back(entry.data());
    environment.push_back(nullptr);
    remove_traces(environment.data());
    std::vector<std::string> left;
    for (char **entry = environment.data(); *entry != nullptr; ++entry) left.emplace_back(*entry);
    return left;
}

using Entries = std::vector<std::string>;

TEST(Environment, LosesTheVariableAndOurPlaceAmongThePreloads) {
    EXPECT_EQ(after_removal({"A=1", "REAP_LITTER=/tmp/x", "LD_PRELOAD=" + self() + ":/lib/one.so", "B=2"}),
              (Entries{"A=1", "LD_PRELOAD=/lib/one.so", "B=2"}));
    EXPECT_EQ(after_removal({"LD_PRELOAD=/a.so " + self() + " /b.so"}), (Entries{"LD_PRELOAD=/a.so /b.so"}));
}

TEST(Environment, HasNoEmptyListOfPreloadsLeft) {
    EXPECT_EQ(after_removal({"LD_PRELOAD=" + self(), "B=2"}), (Entries{"B=2"}));
}

TEST(Environment, KeepsWhatGuardsOtherPreloadsAndNoMore) {
    const std::string guard = "/lib/reap/libreap-exec.so";
    EXPECT_EQ(after_removal({"LD_PRELOAD=" + self() + ":" + guard, "B=2"}), (Entries{"B=2"}));
    EXPECT_EQ(after_removal({"LD_PRELOAD=" + self() + ":" + guard + ":/b.so"}),
              (Entries{"LD_PRELOAD=/b.so"}));
    EXPECT_EQ(after_removal({"LD_PRELOAD=" + self() + ":/jemalloc.so:" + guard}),
              (Entries{"LD_PRELOAD=/jemalloc.so:" + guard}));
}

TEST(Environment, KeepsWhatOnlyLooksLikeOurs) {
    const Entries others{"REAP_LITTERS=1", "XREAP_LITTER=2", "LD_PRELOAD=" + self() + "x:/y" + self()};
    EXPECT_EQ(after_removal(others), others);
    EXPECT_EQ(after_removal({}), Entries{});
}

TEST(Environment, FindsAVariableByItsWholeName) {
    std::array<char, 8> one{"AB=1"};
    std::array<char, 8> two{"A=2"};
    std::array<char *, 3> environment{one.data(), two.data(), nullptr};
    EXPECT_STREQ(find_variable(environment.data(), "A"), "2");
    EXPECT_EQ(find_variable(environment.data(), "B"), nullptr);
}

} // namespace
