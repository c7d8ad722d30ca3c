// One remedy gains and others do not: programs rebuilt from public reports, see
// ../../truth/reports_remedies.py.
#include "reports.h"

#include <algorithm>
#include <array>
#include <malloc.h>
#include <memory>
#include <numeric>
#include <vector>

using reports::cured, reports::next_number;

namespace {

struct Node {
    Node *next;
    std::uint64_t value;
};

// Nodes are freed in random order, and a new list is made from what is free. Where the allocator gives the
// block freed last, neighbours of the list are far apart. Cured, they are freed from the last to the first.
void scattered(double scale) {
    constexpr std::size_t NODES = 300000;
    std::vector<Node *> nodes(NODES);
    std::vector<std::uint32_t> order(NODES);
    std::iota(order.begin(), order.end(), 0U);
    std::uint64_t state = 1, sum = 0;
    if (cured) std::reverse(order.begin(), order.end());
    for (std::size_t at = NODES - 1; !cured && at > 0; at--)
        std::swap(order[at], order[next_number(state) % (at + 1)]);
    for (Node *&node : nodes) node = new Node{};
    for (const std::uint32_t at : order) delete nodes[at];
    Node *list = nullptr;
    for (std::size_t at = 0; at < NODES; at++) list = new Node{list, at};
    for (long turn = static_cast<long>(22 * scale); turn > 0; turn--)
        for (const Node *node = list; node != nullptr; node = node->next) sum += node->value;
    std::printf("%lu\n", sum);
}

std::uint64_t touch(char *block, std::size_t size, int turn) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < size; at += 4096)
        sum += static_cast<unsigned char>(block[at] = static_cast<char>(turn));
    return sum;
}

// Frames of 40 MiB, above the largest threshold to which glibc raises its own, so that each is a mapping.
// Cured, one frame is kept.
void frames(double scale) {
    std::uint64_t sum = 0;
    const std::unique_ptr<char[]> kept(cured ? new char[40 << 20] : nullptr);
    for (int turn = static_cast<int>(50 * scale); turn > 0; turn--) {
        const std::unique_ptr<char[]> fresh(cured ? nullptr : new char[40 << 20]);
        sum += touch(cured ? kept.get() : fresh.get(), static_cast<std::size_t>(36 + turn % 4) << 20, turn);
    }
    std::printf("%lu\n", sum);
}

// Blocks of 132 to 260 KB, and a threshold pinned to 128 KiB by the program itself, against which no setting
// of a threshold from outside helps. Cured, the program pins nothing.
void pinned(double scale) {
    if (!cured) mallopt(M_MMAP_THRESHOLD, 128 << 10);
    std::uint64_t state = 1, sum = 0;
    for (long turn = static_cast<long>(2500 * scale); turn > 0; turn--) {
        std::array<std::unique_ptr<char[]>, 4> blocks;
        for (auto &block : blocks) {
            const std::size_t size = (132 << 10) + next_number(state) % (128 << 10);
            block.reset(new char[size]);
            sum += touch(block.get(), size, static_cast<int>(turn));
        }
    }
    std::printf("%lu\n", sum);
}

// A message has four payloads of 1 MiB, written whole. Freed together, they are more than glibc keeps at the
// top of the heap. Cured, they are kept.
void payload(double scale) {
    constexpr std::size_t SIZE = 1 << 20;
    std::array<std::unique_ptr<char[]>, 4> kept;
    std::uint64_t sum = 0;
    for (int turn = static_cast<int>(450 * scale); turn > 0; turn--) {
        std::array<std::unique_ptr<char[]>, 4> fresh, &payloads = cured ? kept : fresh;
        for (auto &block : payloads) {
            if (!block) block.reset(new char[SIZE]);
            std::memset(block.get(), turn, SIZE);
            sum += static_cast<unsigned char>(block[SIZE / 2]);
        }
    }
    std::printf("%lu\n", sum);
}

} // namespace

int main(int count, char **words) {
    static constexpr reports::Program PROGRAMS[] = {
        {"scattered", scattered}, {"frames", frames}, {"pinned", pinned}, {"payload", payload}};
    return reports::choose(PROGRAMS, count, words);
}
