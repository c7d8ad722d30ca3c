// Concern: an address has its own rule or none, for readers without a lock while others add, and after
// unloads.
#include "rule_table.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace {

using reap::preload::Cfa;
using reap::preload::FrameRule;
using reap::preload::RuleTable;
using reap::preload::SavedRbp;

FrameRule rule_of(uint64_t address) {
    return {static_cast<int32_t>(address), static_cast<int16_t>(address >> 8), Cfa::Rsp, SavedRbp::AtCfa};
}

bool is_rule_of(const FrameRule &rule, uint64_t address) {
    const FrameRule right = rule_of(address);
    return rule.cfa == right.cfa && rule.cfa_offset == right.cfa_offset &&
           rule.rbp_offset == right.rbp_offset;
}

TEST(RuleTable, KeepsEveryRuleThroughGrowth) {
    RuleTable table;
    EXPECT_EQ(table.find(0x401000).cfa, Cfa::Unknown);
    for (uint64_t address = 0x401000; address < 0x401000 + 50000; address += 5)
        table.add(address, rule_of(address));
    for (uint64_t address = 0x401000; address < 0x401000 + 50000; ++address) {
        const FrameRule rule = table.find(address);
        if ((address - 0x401000) % 5 == 0) {
            ASSERT_TRUE(is_rule_of(rule, address));
        } else {
            ASSERT_EQ(rule.cfa, Cfa::Unknown);
        }
    }
}

TEST(RuleTable, ForgetsAllRulesWhenCodeIsUnloaded) {
    RuleTable table;
    for (int round = 0; round < 100; ++round) {
        for (uint64_t address = 0x1000; address < 0x1100; ++address) {
            ASSERT_EQ(table.find(address).cfa, Cfa::Unknown);
            table.add(address, rule_of(address + static_cast<uint64_t>(round)));
            ASSERT_TRUE(is_rule_of(table.find(address), address + static_cast<uint64_t>(round)));
        }
        table.clear();
    }
}

TEST(RuleTable, ReadersNeverSeeTheRuleOfAnotherAddress) {
    RuleTable table;
    std::atomic<bool> ended = false;
    std::atomic<unsigned> wrong = 0;
    std::vector<std::thread> readers;
    readers.reserve(2);
    for (int number = 0; number < 2; ++number) {
        readers.emplace_back([&] {
            for (uint64_t address = 0x1000; !ended; address = address == 0x3000 ? 0x1000 : address + 1) {
                const FrameRule rule = table.find(address);
                if (rule.cfa != Cfa::Unknown && !is_rule_of(rule, address)) ++wrong;
            }
        });
    }
    for (int round = 0; round < 50; ++round) {
        for (uint64_t address = 0x1000; address < 0x3000; address += 3) table.add(address, rule_of(address));
        table.clear();
    }
    ended = true;
    for (std::thread &reader : readers) reader.join();
    EXPECT_EQ(wrong, 0u);
}

} // namespace
