#include "reap/core/link.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

#include "reap/core/secret.h"

namespace {

struct Node {
    Node *next;
};
struct Layer {};
using Encoded = reap::EncodedLinks<Layer>;

/// Four nodes that a layer covers.
struct Row {
    Row() {
        links.cover(nodes, sizeof nodes);
        for (std::size_t at = 3; at < 4; --at) links.make(&nodes[at], at == 3 ? nullptr : &nodes[at + 1]);
    }
    Encoded links;
    Node nodes[4];
};

TEST(Link, LeadsWhereItWasSetTo) {
    Row row;
    EXPECT_EQ(row.links.next(&row.nodes[0]), &row.nodes[1]);
    EXPECT_EQ(row.links.next(&row.nodes[2]), &row.nodes[3]);
    EXPECT_EQ(row.links.next(&row.nodes[3]), nullptr);
    EXPECT_TRUE(row.links.is_last(&row.nodes[3]));
    EXPECT_FALSE(row.links.is_last(&row.nodes[2]));
    row.links.set_next(&row.nodes[0], &row.nodes[3]);
    EXPECT_EQ(row.links.next(&row.nodes[0]), &row.nodes[3]);
}

TEST(Link, IsNoAddressInMemory) {
    const Row row;
    for (const Node &node : row.nodes) {
        for (const Node &other : row.nodes) EXPECT_NE(node.next, &other);
        EXPECT_NE(node.next, nullptr);
    }
}

TEST(Link, ThatWasOverwrittenLeadsNowhere) {
    for (int value = 0; value < 256; ++value) {
        Row row;
        for (Node &node : row.nodes) {
            std::memset(static_cast<void *>(&node), value, sizeof node);
            EXPECT_FALSE(row.links.is_valid(&node)) << value;
            EXPECT_EQ(row.links.next(&node), nullptr) << value;
        }
    }
}

TEST(Link, WhoseFirstByteChangedLeadsNowhere) {
    for (unsigned change = 1; change < 256; ++change) {
        Row row;
        for (Node &node : row.nodes) {
            unsigned char first = 0;
            std::memcpy(&first, &node, 1);
            first = static_cast<unsigned char>(first ^ change);
            std::memcpy(static_cast<void *>(&node), &first, 1);
            EXPECT_FALSE(row.links.is_valid(&node)) << change;
        }
    }
}

TEST(Link, OfAnotherPlaceOrAnotherLayerIsNotValid) {
    Row row;
    const Row other;
    std::memcpy(static_cast<void *>(&row.nodes[0]), &row.nodes[1], sizeof(Node));
    EXPECT_NE(row.links.next(&row.nodes[0]), &row.nodes[2]);
    EXPECT_FALSE(other.links.is_valid(&row.nodes[1]));
}

TEST(Link, LeadsToWhatTheLayerCoversAlone) {
    Row row;
    Node outside{};
    row.links.set_next(&row.nodes[0], &outside);
    EXPECT_FALSE(row.links.is_valid(&row.nodes[0]));
    auto *const crooked = reinterpret_cast<Node *>(reinterpret_cast<std::uintptr_t>(&row.nodes[1]) + 1);
    row.links.set_next(&row.nodes[0], crooked);
    EXPECT_FALSE(row.links.is_valid(&row.nodes[0]));
    EXPECT_TRUE(row.links.covers(&row.nodes[3]));
    EXPECT_FALSE(row.links.covers(&outside));
    EXPECT_FALSE(row.links.covers(nullptr));
    EXPECT_FALSE(Encoded().covers(&outside));
}

TEST(Link, OfPlainLayersIsTheAddress) {
    using Plain = reap::PlainLinks<Layer>;
    Node nodes[2]{};
    Node *const node = Plain::make(&nodes[0], &nodes[1]);
    EXPECT_EQ(node->next, &nodes[1]);
    EXPECT_EQ(Plain::next(node), &nodes[1]);
    Plain::set_next<Node>(node, nullptr);
    EXPECT_EQ(node->next, nullptr);
}

TEST(Secret, IsAnotherForEachLayer) {
    std::set<std::uint64_t> drawn;
    constexpr std::uintptr_t layers = 64;
    for (std::uintptr_t layer = 0; layer < layers; ++layer) drawn.insert(reap::Secret::draw(layer));
    EXPECT_EQ(drawn.size(), layers);
    EXPECT_EQ(drawn.count(0), 0U);
}

} // namespace
