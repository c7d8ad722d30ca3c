// One program of translation units that were built with different settings: each uses its own layers.

#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <vector>

#include "misuse_log.h"
#include "setting.h"

namespace {

using Kinds = std::vector<reap::Misuse>;

const Setting *const settings[] = {
    &plain,
    &optimized,
    &debug,
    &checked,
    &without_exceptions,
    &checked_without_exceptions,
    &marked,
    &hardened,
    &quarantine,
    &hardened_without_exceptions,
#if defined(WITH_MEMCHECK)
    &memcheck,
#endif
#if defined(WITH_SANITIZERS)
    &undefined,
    &address,
    &hardened_address,
#endif
};

/// All settings from this one on, each at work while the one before is.
void work_from(const Setting *const *setting) {
    if (setting == std::end(settings)) return;
    const auto next = [setting] { work_from(setting + 1); };
    EXPECT_TRUE((*setting)->work(next)) << (*setting)->name;
}

TEST(Modes, WorkAlone) {
    for (const auto *setting : settings) {
        const MisuseLog log;
        EXPECT_TRUE(setting->work([] {})) << setting->name;
        EXPECT_EQ(MisuseLog::take(), Kinds(setting->checked ? 1 : 0, reap::Misuse::wrong_size))
            << setting->name;
    }
}

TEST(Modes, WorkInsideEachOther) {
    const MisuseLog log;
    std::size_t those_checked = 0;
    for (const auto *setting : settings) those_checked += setting->checked ? 1 : 0;
    work_from(std::begin(settings));
    EXPECT_EQ(MisuseLog::take(), Kinds(those_checked, reap::Misuse::wrong_size));
}

TEST(Modes, AreWhatTheyWereBuiltAs) {
    EXPECT_FALSE(plain.checked || optimized.checked || debug.checked || without_exceptions.checked ||
                 marked.checked || hardened.checked || quarantine.checked);
    EXPECT_TRUE(hardened.hardened && quarantine.hardened && hardened_without_exceptions.hardened);
    EXPECT_FALSE(plain.hardened || checked.hardened);
    EXPECT_TRUE(checked.checked && checked_without_exceptions.checked);
#if defined(WITH_SANITIZERS)
    EXPECT_TRUE(address.checked);
    EXPECT_FALSE(undefined.checked || hardened_address.checked);
    EXPECT_TRUE(hardened_address.hardened);
#endif
}

} // namespace
