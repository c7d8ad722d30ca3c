// Concern: a compressed trace is the same byte by byte, whatever it holds; what is damaged is an error.
#include "files/columns.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <zstd.h>

#include "files/zstd_file.h"
#include "reap_encode.h"
#include "reap_trace.h"
#include "scratch_file.h"

namespace {

using namespace reap::native;
using reap::test::append;
using reap::test::ScratchFile;
using Bytes = std::vector<unsigned char>;

// A block of events, filled with records of all kinds.
Bytes block_of_events(std::mt19937 &random) {
    Bytes payload;
    const auto number = [&](unsigned bits) {
        unsigned char buffer[reap::format::kMaxVarint];
        const uint64_t value = (uint64_t{random()} << 32 | random()) >> (64 - bits);
        payload.insert(payload.end(), buffer, reap::format::put_varint(buffer, value));
    };
    while (payload.size() < REAP_PAYLOAD_BYTES - 200) {
        const auto tag = static_cast<unsigned>(random() % 15);
        if (tag == REAP_TAG_END) {
            const auto length = static_cast<unsigned>(random() % 50);
            payload.push_back(REAP_TAG_SAMPLE);
            payload.push_back(static_cast<unsigned char>(length));
            for (unsigned i = 0; i < length; ++i) payload.push_back(static_cast<unsigned char>(random()));
            continue;
        }
        constexpr unsigned fields[] = {0, 4, 2, 6, 5, 3, 3, 3, 2, 1, 0, 0, 0, 0, 4};
        const auto high = static_cast<unsigned>(random() % 12);
        payload.push_back(static_cast<unsigned char>(tag | high << 4));
        for (unsigned i = 0; i < fields[tag]; ++i) number(1 + random() % 64);
        const bool timed = tag == REAP_TAG_TIMED_MALLOC || tag == REAP_TAG_TIMED_FREE;
        const bool packed = tag == REAP_TAG_PACKED_MALLOC || tag == REAP_TAG_PACKED_FREE || timed;
        const bool of_malloc = tag == REAP_TAG_PACKED_MALLOC || tag == REAP_TAG_TIMED_MALLOC;
        unsigned bytes = timed ? 2 : 0;
        if (packed) bytes += 1 + high % 4;
        if (of_malloc) bytes += 1 + high / 4 + 1;
        for (; bytes != 0; --bytes) payload.push_back(static_cast<unsigned char>(random()));
        if (tag == REAP_TAG_QUICK_KNOWN) payload.push_back(static_cast<unsigned char>(random()));
    }
    reap_block_header head{};
    head.magic = REAP_BLOCK_MAGIC;
    head.kind = REAP_BLOCK_EVENTS;
    head.committed = static_cast<uint32_t>(payload.size());
    Bytes block;
    append(block, head);
    block.insert(block.end(), payload.begin(), payload.end());
    for (unsigned i = 0; block.size() < REAP_BLOCK_BYTES; ++i) block.push_back(i % 64 == 0 ? 7 : 0);
    return block;
}

Bytes trace_of(std::mt19937 &random, unsigned blocks) {
    Bytes trace(REAP_BLOCK_BYTES, 3); // the header
    for (unsigned i = 0; i < blocks; ++i) {
        Bytes block = block_of_events(random);
        if (i % 5 == 1) block[4] = REAP_BLOCK_DEFINITIONS;
        if (i % 5 == 2)
            block[100 + random() % 60000] ^=
                static_cast<unsigned char>(1u << random() % 8);      // perhaps unreadable
        if (i % 5 == 3) block[44] = 1, block[45] = 0, block[46] = 0; // shorter than its records
        trace.insert(trace.end(), block.begin(), block.end());
    }
    return trace;
}

Bytes all_of(const std::string &path) {
    ZstdFile file(path);
    Bytes bytes(file.size());
    bytes.resize(file.read_at(bytes.data(), bytes.size(), 0));
    return bytes;
}

TEST(Columns, HoldEachByteOnce) {
    std::mt19937 random(1);
    const Bytes block = block_of_events(random);
    Columns columns;
    split_columns(block.data(), block.size(), columns);
    size_t bytes = 0;
    size_t largest = 0;
    for (const Bytes &column : columns) {
        bytes += column.size();
        largest = std::max(largest, column.size());
    }
    EXPECT_EQ(bytes, block.size() + 1);
    EXPECT_LT(largest, block.size() / 2) << "it was not split";
}

TEST(Columns, ACompressedTraceIsTheSame) {
    std::mt19937 random(2);
    for (const size_t cut : {0u, 1u, 64u, 1000u, REAP_BLOCK_BYTES - 1}) {
        Bytes trace = trace_of(random, 37);
        trace.resize(trace.size() - cut);
        const ScratchFile file;
        file.write(trace);
        compress_file(file.path());
        EXPECT_TRUE(ZstdFile(file.path()).compressed());
        EXPECT_EQ(all_of(file.path()), trace);
    }
}

TEST(Columns, WhatDoesNotFitTogetherIsRefused) {
    std::mt19937 random(3);
    const Bytes trace = trace_of(random, 6);
    Columns columns;
    split_columns(trace.data(), trace.size(), columns);
    Bytes out(trace.size());
    ASSERT_TRUE(join_columns(columns, out.data(), out.size()));
    ASSERT_EQ(out, trace);
    for (int i = 0; i < 150; ++i) {
        Columns other = columns;
        for (auto changes = 1 + random() % 3; changes > 0; --changes) {
            Bytes &column = other[random() % kColumns];
            if (column.empty() || random() % 4 == 0) {
                column.push_back(static_cast<unsigned char>(random()));
            } else if (random() % 4 == 0) {
                column.resize(random() % column.size());
            } else {
                column[random() % column.size()] ^= static_cast<unsigned char>(1u << random() % 8);
            }
        }
        (void)join_columns(other, out.data(), out.size()); // within its bounds
        other[random() % kColumns].push_back(0);
        other[random() % kColumns].clear();
        (void)join_columns(other, out.data(), out.size() - random() % REAP_BLOCK_BYTES);
    }
    columns[kColumns - 1].push_back(0);
    EXPECT_FALSE(join_columns(columns, out.data(), out.size())) << "a byte is left over";
}

// A frame for each piece, as it was before columns.
TEST(Columns, EarlierCompressedTracesAreRead) {
    std::mt19937 random(4);
    const Bytes trace = trace_of(random, 20);
    Bytes packed(ZSTD_compressBound(trace.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), trace.data(), trace.size(), 1));
    const auto length = static_cast<uint32_t>(packed.size());
    for (const uint32_t each : {0x184d2a5eu, 8u + 9u, length, static_cast<uint32_t>(trace.size()), 1u})
        append(packed, each);
    packed.push_back(0);
    append(packed, 0x8f92eab1u);
    const ScratchFile file;
    file.write(packed);
    EXPECT_EQ(all_of(file.path()), trace);
}

} // namespace
