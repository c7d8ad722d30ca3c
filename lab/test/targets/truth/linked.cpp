// Programs into which an allocator is linked: no preload replaces it. How it is linked is a word of the
// compiler: LINKED_PREFIXED calls je_mallocx and je_sdallocx as Rust's crates do, LINKED_MIMALLOC mi_malloc
// and mi_free; else malloc and free are the linked library's own.
#include "modes.h"

#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#ifdef LINKED_PREFIXED
extern "C" void *je_mallocx(std::size_t size, int flags);
extern "C" void je_sdallocx(void *block, std::size_t size, int flags);
#define TAKE(size) je_mallocx(size, 0)
#define GIVE(block, size) je_sdallocx(block, size, 0)
#elif defined(LINKED_MIMALLOC)
extern "C" void *mi_malloc(std::size_t size);
extern "C" void mi_free(void *block);
#define TAKE(size) mi_malloc(size)
#define GIVE(block, size) mi_free(block)
#else
#define TAKE(size) std::malloc(size)
#define GIVE(block, size) std::free(block)
#endif

#ifdef LINKED_MIMALLOC
void *operator new(std::size_t size) {
    void *const block = TAKE(size);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}
void *operator new[](std::size_t size) { return operator new(size); }
void operator delete[](void *block) noexcept { GIVE(block, 0); }
void operator delete[](void *block, std::size_t) noexcept { GIVE(block, 0); }
void operator delete(void *block) noexcept { GIVE(block, 0); }
void operator delete(void *block, std::size_t) noexcept { GIVE(block, 0); }
#endif

namespace {

// A pool of small vectors of random lives. Cured, each is filled again.
void pool(double scale) {
    enum { VECTORS = 2000 };
    std::vector<std::vector<unsigned char>> vectors(VECTORS);
    std::uint64_t state = 1, sum = 0;
    if (cured)
        for (auto &each : vectors) each.reserve(528);
    for (auto &each : vectors) each.push_back(1);
    for (long turn = static_cast<long>(15000000 * scale); turn > 0; turn--) {
        auto &place = vectors[next_number(&state) % VECTORS];
        const std::size_t size = 16 + next_number(&state) % 512;
        sum += place[0];
        if (cured) {
            place.clear();
            place.push_back(static_cast<unsigned char>(turn));
            continue;
        }
        std::vector<unsigned char> fresh;
        fresh.reserve(size);
        fresh.push_back(static_cast<unsigned char>(turn));
        place = std::move(fresh);
    }
    std::printf("%lu\n", sum);
}

// A store whose fields are overwritten: a value is made for each, and the old one freed. Cured, it is written
// over.
void fields(double scale) {
    enum { KEYS = 400, FIELDS = 14, LARGEST = 256 };
    struct Field {
        char *value;
        std::size_t size;
    };
    std::vector<Field> store(static_cast<std::size_t>(KEYS) * FIELDS);
    std::uint64_t state = 1, sum = 0;
    for (auto &field : store) field = {static_cast<char *>(TAKE(LARGEST)), LARGEST};
    for (auto &field : store) field.value[0] = 0;
    for (long turn = static_cast<long>(1200000 * scale); turn > 0; turn--) {
        Field *const key = &store[next_number(&state) % KEYS * FIELDS];
        for (int at = 0; at < FIELDS; at++) {
            const std::size_t size = 8 + next_number(&state) % (LARGEST - 8);
            sum += static_cast<std::uint64_t>(key[at].value[0]);
            if (!cured) {
                char *const value = static_cast<char *>(TAKE(size));
                GIVE(key[at].value, key[at].size);
                key[at] = {value, size};
            }
            key[at].value[0] = static_cast<char>(size & 63);
        }
    }
    std::printf("%lu\n", sum);
}

// Entries of a ledger, decoded by two threads into vectors of their own. Cured, each thread decodes into the
// same vectors.
void ledger(double scale) {
    enum { ENTRIES = 64, PARTS = 24 };
    const auto decode = [&](std::uint64_t seed, std::uint64_t &sum) {
        std::vector<std::vector<std::uint64_t>> kept(ENTRIES);
        std::uint64_t state = seed;
        for (long turn = static_cast<long>(50000 * scale); turn > 0; turn--) {
            std::vector<std::vector<std::uint64_t>> made;
            if (!cured) made.resize(ENTRIES);
            auto &entries = cured ? kept : made;
            for (auto &entry : entries) {
                entry.clear();
                const std::uint64_t parts = 1 + next_number(&state) % PARTS;
                for (std::uint64_t at = 0; at < parts; at++) entry.push_back(at * turn);
            }
            for (const auto &entry : entries) sum += entry.back() + entry.size();
        }
    };
    std::uint64_t sums[2] = {};
    std::thread other(decode, 2, std::ref(sums[1]));
    decode(1, sums[0]);
    other.join();
    std::printf("%lu\n", sums[0] + sums[1]);
}

// A pass of a compiler: each operation makes a node with operands, all of which are dropped at the end of the
// pass. Cured, nodes are kept for the next.
void passes(double scale) {
    enum { NODES = 3000 };
    struct Node {
        std::uint64_t operation;
        std::unique_ptr<std::uint64_t[]> operands;
    };
    std::vector<std::unique_ptr<Node>> nodes(NODES);
    std::uint64_t sum = 0;
    for (long turn = static_cast<long>(6000 * scale); turn > 0; turn--) {
        for (std::size_t at = 0; at < NODES; at++) {
            if (!nodes[at]) {
                nodes[at] = std::make_unique<Node>();
                nodes[at]->operands.reset(new std::uint64_t[cured ? 8 : 1 + at % 8]);
            }
            nodes[at]->operation = at + static_cast<std::uint64_t>(turn);
            nodes[at]->operands[0] = at;
        }
        for (auto &node : nodes) {
            sum += node->operation + node->operands[0];
            if (!cured) node.reset();
        }
    }
    std::printf("%lu\n", sum);
}

} // namespace

int main(int count, char **words) {
    static const mode modes[] = {{"pool", pool}, {"fields", fields}, {"ledger", ledger}, {"passes", passes}};
    return run_mode(modes, std::size(modes), count, words);
}
