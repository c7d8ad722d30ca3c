// Concern: a file that is none, or lies about itself, is not believed; reports beyond the slots are counted.
#include "litter_file.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <vector>

namespace {

using reap::preload::LitterFile;

class LitterFileTest : public testing::Test {
  protected:
    LitterFileTest() {
        header_.magic = REAP_LITTER_MAGIC;
        header_.version = REAP_LITTER_VERSION;
        header_.size_count = 2;
        header_.report_offset = sizeof header_ + sizeof sizes_;
        header_.report_slots = 3;
        header_.objects = 100;
        header_.kept = 33;
        header_.threads = 1;
    }
    ~LitterFileTest() override { std::filesystem::remove(path_); }

    bool opens(LitterFile &file, size_t cut = 0) const {
        std::vector<char> bytes(header_.report_offset < 4096 ? header_.report_offset : 4096);
        bytes.resize(std::max(bytes.size(), sizeof header_ + sizeof sizes_));
        std::memcpy(bytes.data(), &header_, sizeof header_);
        std::memcpy(bytes.data() + sizeof header_, sizes_, sizeof sizes_);
        bytes.resize(bytes.size() + 3 * sizeof(reap_litter_report) - cut);
        std::ofstream(path_, std::ios::binary)
            .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return file.open(path_.c_str());
    }
    bool opens(size_t cut = 0) const {
        LitterFile file;
        return opens(file, cut);
    }

    reap_litter_header header_{};
    reap_litter_size sizes_[2] = {{16, 3}, {32, 1}};
    std::string path_ = testing::TempDir() + "litter-" + std::to_string(getpid());
};

TEST_F(LitterFileTest, SaysWhatToDoAndTakesReports) {
    LitterFile file;
    ASSERT_TRUE(opens(file));
    EXPECT_EQ(file.header().objects, 100u);
    EXPECT_EQ(file.sizes()[1].size, 32u);
    for (int i = 0; i < 3; ++i) ASSERT_NE(file.next_report(), nullptr);
    EXPECT_EQ(file.next_report(), nullptr);
    EXPECT_EQ(file.header().next_report, 4u);
    file.count_deepbind();
    EXPECT_EQ(file.header().deepbind, 1u);
}

TEST_F(LitterFileTest, OfAnotherKindOrVersionIsRefused) {
    header_.magic ^= 1;
    EXPECT_FALSE(opens());
    header_.magic ^= 1;
    header_.version = 2;
    EXPECT_FALSE(opens());
}

TEST_F(LitterFileTest, CutShortIsRefused) {
    EXPECT_TRUE(opens());
    EXPECT_FALSE(opens(1));
    EXPECT_FALSE(LitterFile().open("/nonexistent"));
    EXPECT_FALSE(LitterFile().open("/dev/null"));
}

TEST_F(LitterFileTest, ThatLiesIsRefused) {
    const reap_litter_header good = header_;
    header_.kept = 101;
    EXPECT_FALSE(opens());
    header_ = good;
    header_.threads = 0;
    EXPECT_FALSE(opens());
    header_ = good;
    header_.order = 3;
    EXPECT_FALSE(opens());
    header_ = good;
    header_.size_count = 3; // runs into the reports
    EXPECT_FALSE(opens());
    header_ = good;
    header_.report_slots = 4;
    EXPECT_FALSE(opens());
    header_ = good;
    header_.objects = UINT64_MAX;
    EXPECT_FALSE(opens());
    header_ = good;
    sizes_[0].count = 0;
    EXPECT_FALSE(opens());
    sizes_[0].count = UINT64_MAX;
    EXPECT_FALSE(opens());
}

} // namespace
