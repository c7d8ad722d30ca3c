// Concern: what a writer puts a reader gets, for every value; a reader never looks past the end.
#include <gtest/gtest.h>
#include <random>

#include "reap_encode.h"
#include "totals/statistics.h"
#include "trace/record_reader.h"

namespace {

using namespace reap;

// Values of every length, and those around each change of length.
std::vector<uint64_t> values() {
    std::vector<uint64_t> found = {0, UINT64_MAX};
    std::mt19937_64 random(1);
    for (unsigned bits = 1; bits < 64; ++bits) {
        for (const uint64_t near :
             {uint64_t{1} << bits, (uint64_t{1} << bits) - 1, (uint64_t{1} << bits) + 1}) {
            found.push_back(near);
        }
        found.push_back(random() >> bits);
    }
    return found;
}

TEST(Varint, ComesBack) {
    for (const uint64_t value : values()) {
        unsigned char buffer[format::kMaxVarint + native::kReaderPadding] = {};
        const unsigned char *end = format::put_varint(buffer, value);
        native::RecordReader in(buffer, end);
        EXPECT_EQ(in.varint(), value);
        EXPECT_TRUE(in.good());
        EXPECT_TRUE(in.done());
    }
}

TEST(Varint, TheShortOneIsTheSame) {
    for (const uint64_t value : values()) {
        unsigned char one[format::kMaxVarint] = {};
        unsigned char other[format::kMaxVarint] = {};
        const ptrdiff_t length = format::put_varint(one, value) - one;
        ASSERT_EQ(format::put_short_varint(other, value) - other, length) << value;
        EXPECT_EQ(std::memcmp(one, other, static_cast<size_t>(length)), 0) << value;
    }
}

TEST(Varint, CutShortIsNoticed) {
    for (const uint64_t value : values()) {
        unsigned char buffer[format::kMaxVarint + native::kReaderPadding] = {};
        const unsigned char *end = format::put_varint(buffer, value);
        for (const unsigned char *cut = buffer; cut < end; ++cut) {
            native::RecordReader in(buffer, cut);
            in.varint();
            EXPECT_FALSE(in.good());
        }
    }
}

TEST(Varint, WithoutEndIsNoticed) {
    unsigned char buffer[32];
    std::memset(buffer, 0xff, sizeof buffer);
    native::RecordReader in(buffer, buffer + 16);
    in.varint();
    EXPECT_FALSE(in.good());
}

TEST(Address, StepsComeBackAndMultiplesOf16AreShort) {
    std::mt19937_64 random(2);
    for (int i = 0; i < 100000; ++i) {
        const uint64_t from = random() >> (8 + random() % 40);
        const uint64_t to = random() >> (8 + random() % 40);
        EXPECT_EQ(format::unfold_address(from, format::fold_address(from, to)), to);
    }
    EXPECT_LT(format::fold_address(0x555555560000, 0x555555560000 + 1008), 128u);
    EXPECT_LT(format::fold_address(0x555555560000, 0x555555560000 - 1008), 128u);
}

TEST(Packed, ComesBackAndIsNoLongerThanItMustBe) {
    for (const uint64_t each : values()) {
        const auto value = static_cast<uint32_t>(each);
        unsigned char buffer[4 + native::kReaderPadding] = {};
        const unsigned more = format::packed_more(value);
        const unsigned char *end = format::put_packed(buffer, value, more);
        EXPECT_EQ(end - buffer, more + 1);
        EXPECT_TRUE(more == 0 || value >> 8 * more != 0) << value;
        native::RecordReader in(buffer, end);
        EXPECT_EQ(in.packed(more), value);
        EXPECT_TRUE(in.good());
        EXPECT_TRUE(in.done());
        native::RecordReader cut(buffer, end - 1);
        cut.packed(more);
        EXPECT_FALSE(cut.good());
    }
}

TEST(Step, OfMultiplesOf16ComesBackOthersHaveNone) {
    std::mt19937_64 random(2);
    for (int i = 0; i < 100000; ++i) {
        const uint64_t from = random() >> (8 + random() % 40);
        const uint64_t far = random() % (UINT64_C(1) << 35) & ~UINT64_C(15);
        for (const uint64_t to : {from + far, from - far}) {
            const uint64_t step = format::pack_step(from, to);
            ASSERT_EQ(step >> 32, 0u);
            ASSERT_EQ(format::unpack_step(from, step), to);
        }
        ASSERT_NE(format::pack_step(from, from + far + 1 + random() % 15) >> 32, 0u);
    }
    EXPECT_NE(format::pack_step(0x555555560000, 0x7f5555560000) >> 32, 0u) << "too far for a packed number";
    EXPECT_LT(format::pack_step(0x555555560000, 0x555555560000 + 2032), 256u);
    EXPECT_LT(format::pack_step(0x555555560000, 0x555555560000 - 2048), 256u);
}

TEST(LargeBin, EverySizeLiesInItsBin) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 100000; ++i) {
        const uint64_t size = (random() >> (random() % 52)) | 4096;
        const unsigned bin = format::large_bin(size);
        ASSERT_LT(bin, REAP_LARGE_BINS);
        EXPECT_LE(format::large_bin_low(bin), size);
        if (bin + 1 < REAP_LARGE_BINS) {
            EXPECT_GT(format::large_bin_low(bin + 1), size);
        }
    }
    EXPECT_EQ(format::large_bin(4096), 0u);
    EXPECT_EQ(format::large_bin(UINT64_MAX), REAP_LARGE_BINS - 1);
}

TEST(Encode, RequestBinsCoverAllNumbersWithoutGaps) {
    for (unsigned bin = 0; bin < REAP_REQUEST_BINS; ++bin) {
        const uint64_t low = format::request_bin_low(bin);
        const uint64_t next = format::request_bin_low(bin + 1);
        ASSERT_EQ(format::request_bin(low), bin);
        ASSERT_EQ(format::request_bin(next - 1), bin);
        ASSERT_LE(next - low - 1, low / 64); // a percentile is the middle of its bin
    }
    EXPECT_EQ(format::request_bin_low(REAP_REQUEST_BINS), UINT64_C(1) << 40);
    EXPECT_EQ(format::request_bin(UINT64_MAX), REAP_REQUEST_BINS - 1);
}

TEST(LogHistogram, QuantilesAreWithinABin) {
    native::LogHistogram histogram;
    for (uint64_t value = 1; value <= 10000; ++value) histogram.add(value, 1);
    EXPECT_NEAR(histogram.quantile(0.5), 5000, 5000 * 0.05);
    EXPECT_NEAR(histogram.quantile(0.99), 9900, 9900 * 0.05);
    EXPECT_EQ(native::LogHistogram().quantile(0.5), 0);
}

TEST(Timeline, MergesPairsOfBinsWhenTimeOutgrowsThem) {
    native::Timeline timeline(100, 1);
    for (uint64_t at = 0; at < 5000; ++at) {
        timeline.level(100 + at, static_cast<double>(at % 10)).sum += 1;
    }
    double sum = 0;
    for (const auto &bin : timeline.bins()) {
        sum += bin.sum;
        EXPECT_LE(bin.high, 9);
    }
    EXPECT_EQ(sum, 5000);
    EXPECT_EQ(timeline.width(), 8u);
    EXPECT_EQ(timeline.bins().back().last, 4999 % 10);
}

} // namespace
