// Programs written after all others, of other shapes: rebuilt from public reports, see
// ../../truth/reports_heldout.py.
#include "reports.h"

#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using reports::compute, reports::cured, reports::next_number;

namespace {

// An address is written as text by a stream that is made for it. Cured, into an array.
void streams(double scale) {
    std::uint64_t sum = 0, state = 1;
    for (long turn = static_cast<long>(1500000 * scale); turn > 0; turn--) {
        const std::uint64_t address = 0x7f0000000000 + next_number(state) % 100000;
        if (cured) {
            std::array<char, 24> text{'0', 'x'};
            const char *end = std::to_chars(&text[2], text.end(), address, 16).ptr;
            sum += static_cast<std::uint64_t>(end - text.data()) + static_cast<unsigned char>(text[3]);
        } else {
            std::stringstream stream;
            stream << "0x" << std::hex << address;
            const std::string text = stream.str();
            sum += text.size() + static_cast<unsigned char>(text[3]);
        }
    }
    std::printf("%lu\n", sum);
}

// Rows are appended to the buffer of a page, which has room for just this row each time. Cured, for twice as
// much.
void writer(double scale) {
    std::uint64_t sum = 0, state = 1;
    for (int page = static_cast<int>(9 * scale); page > 0; page--) {
        std::vector<unsigned char> bytes;
        for (int row = 0; row < 4000; row++) {
            const std::size_t needed = bytes.size() + 20 + next_number(state) % 60;
            if (needed > bytes.capacity()) bytes.reserve(cured ? 2 * needed : needed);
            bytes.resize(needed, static_cast<unsigned char>(row));
        }
        sum += bytes.size() + bytes[bytes.size() / 2];
    }
    std::printf("%lu\n", sum);
}

// A tree of tags, each with a vector of attributes and one of children, that is walked four times and freed.
// Cured, the tree of the document before is filled again.
struct Tag {
    std::vector<std::string> attributes;
    std::vector<std::unique_ptr<Tag>> children;
};

std::uint64_t fill(Tag &tag, int depth, std::uint64_t &state) {
    tag.attributes.resize(2);
    for (auto &attribute : tag.attributes) attribute.assign(18 + next_number(state) % 20, 'c');
    tag.children.resize(depth > 0 ? 5 : 0);
    std::uint64_t sum = tag.attributes[1].size();
    for (auto &child : tag.children) {
        if (!child) child = std::make_unique<Tag>();
        sum += fill(*child, depth - 1, state);
    }
    return sum;
}

std::uint64_t select(const Tag &tag) {
    std::uint64_t sum = 0;
    for (const auto &attribute : tag.attributes)
        for (const char each : attribute) sum = sum * 31 + static_cast<unsigned char>(each);
    for (const auto &child : tag.children) sum += select(*child);
    return sum;
}

void pages(double scale) {
    std::uint64_t sum = 0, state = 1;
    auto page = std::make_unique<Tag>();
    for (int turn = static_cast<int>(360 * scale); turn > 0; turn--) {
        if (!cured) page = std::make_unique<Tag>();
        sum += fill(*page, 5, state);
        for (int query = 0; query < 4; query++) sum += select(*page);
    }
    std::printf("%lu\n", sum);
}

// Each frame of a video is blurred by two threads of their own, with a buffer for each row. Cured, with one
// for all.
std::uint64_t blur(int frame, int from) {
    std::uint64_t sum = 0;
    std::unique_ptr<int[]> kept(new int[640]());
    for (int row = from; row < from + 60; row++) {
        std::unique_ptr<int[]> fresh(cured ? nullptr : new int[640]());
        int *cells = cured ? kept.get() : fresh.get();
        for (int at = 0; at < 640; at++) cells[at] = row * at + frame;
        for (int at = 1; at < 639; at++)
            sum += static_cast<std::uint64_t>(cells[at - 1] + cells[at] + cells[at + 1]) / 3;
    }
    return sum;
}

void video(double scale) {
    std::uint64_t sum = 0;
    for (int frame = static_cast<int>(4000 * scale); frame > 0; frame--) {
        std::uint64_t upper = 0, lower = 0;
        std::thread one([&] { upper = blur(frame, 0); }), two([&] { lower = blur(frame, 60); });
        one.join();
        two.join();
        sum += upper + lower;
    }
    std::printf("%lu\n", sum);
}

// Tables fill to their limits in the first third, and 300 bytes of each request stay all the time. Cured,
// they do not.
void settling(double scale) {
    const long requests = static_cast<long>(50000 * scale);
    std::map<std::uint64_t, std::string> table;
    std::vector<std::string> kept;
    std::uint64_t sum = 0, state = 1;
    for (long request = 0; request < requests; request++) {
        table[next_number(state) % (static_cast<std::uint64_t>(requests) / 12 + 1)].assign(1500, 't');
        std::string name(300, static_cast<char>('a' + request % 26));
        sum += compute(8000, static_cast<unsigned char>(name[7])) & 1;
        if (!cured) kept.push_back(std::move(name));
    }
    std::printf("%lu %zu\n", sum, table.size());
}

// A map that is filled, emptied in random order and filled again, and then read in order. Cured, it is filled
// once.
void churned(double scale) {
    constexpr std::uint64_t KEYS = 150000;
    std::map<std::uint64_t, std::uint64_t> index;
    std::uint64_t state = 1, sum = 0;
    std::vector<std::uint64_t> order(KEYS);
    for (std::uint64_t at = 0; at < KEYS; at++) order[at] = at;
    for (std::uint64_t at = KEYS - 1; at > 0; at--)
        std::swap(order[at], order[next_number(state) % (at + 1)]);
    const auto fill_again = [&] {
        for (std::uint64_t key = 0; key < KEYS; key++) index.emplace_hint(index.end(), key, key);
    };
    for (int round = cured ? 2 : 0; round < 2; round++) {
        fill_again();
        for (const std::uint64_t key : order) index.erase(key);
    }
    index.clear();
    fill_again();
    for (int turn = static_cast<int>(20 * scale); turn > 0; turn--)
        for (const auto &[key, value] : index) sum += value * 3 + key;
    std::printf("%lu\n", sum);
}

} // namespace

int main(int count, char **words) {
    static constexpr reports::Program PROGRAMS[] = {{"streams", streams},   {"writer", writer},
                                                    {"pages", pages},       {"video", video},
                                                    {"settling", settling}, {"churned", churned}};
    return reports::choose(PROGRAMS, count, words);
}
