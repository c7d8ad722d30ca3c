// Memory that grows, or seems to: programs rebuilt from public reports, see ../../truth/reports_growth.py.
#include "reports.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

using reports::compute, reports::cured, reports::next_number;

namespace {

using Block = std::unique_ptr<char[]>;

Block filled(std::size_t size, int value) {
    Block block(new char[size]);
    std::memset(block.get(), value, size);
    return block;
}

// Twelve bursts, each as large as the others, the last at the end of the program. Cured, a burst is a
// sixteenth.
void peaks(double scale) {
    std::uint64_t sum = 0;
    const int rounds = cured ? 16 : 1;
    for (int burst = 0; burst < 12; burst++)
        for (int round = 0; round < rounds; round++) {
            std::vector<Block> tiles;
            for (int tile = 0; tile < static_cast<int>(16000 * scale) / rounds; tile++)
                tiles.push_back(filled(2000, tile));
            for (const Block &tile : tiles) sum = compute(1000, sum + static_cast<unsigned char>(tile[7]));
        }
    std::printf("%d\n", sum != 0);
}

[[gnu::noinline]] Block keep_connection(int request) { return filled(400, request); }

// A cache of 24 MB, full after a tenth of the requests, beside 400 bytes that each request leaves. Cured,
// they are freed.
void beside(double scale) {
    const long requests = static_cast<long>(60000 * scale);
    std::vector<Block> cache(6000), kept;
    std::uint64_t sum = 0, state = 1;
    for (long request = 0; request < requests; request++) {
        if (const auto at = static_cast<std::size_t>(request); at < cache.size()) cache[at] = filled(4000, 1);
        Block &entry = cache[next_number(state) % cache.size()];
        if (entry) entry = filled(4000, static_cast<int>(request));
        Block connection = keep_connection(static_cast<int>(request));
        sum += compute(8000, static_cast<unsigned char>(connection[3])) & 1;
        if (!cured) kept.push_back(std::move(connection));
    }
    std::printf("%lu\n", sum);
}

// A cache that is full after three quarters of the run, and not larger afterwards. Cured, it has a tenth.
void warm_up(double scale) {
    const long requests = static_cast<long>(60000 * scale);
    const auto limit = static_cast<std::size_t>(requests) * 3 / (cured ? 40 : 4);
    std::vector<Block> cache;
    std::uint64_t sum = 0;
    for (long request = 0; request < requests; request++) {
        Block answer = filled(700, static_cast<int>(request));
        sum += compute(8000, static_cast<unsigned char>(answer[3])) & 1;
        if (cache.size() < limit)
            cache.push_back(std::move(answer));
        else
            cache[static_cast<std::size_t>(request) % limit] = std::move(answer);
    }
    std::printf("%lu\n", sum);
}

// A cache by a key of which there are 12,000: each new key is rarer than the one before. Cured, of which
// there are 1,000.
void saturating(double scale) {
    std::unordered_map<std::uint64_t, Block> cache;
    std::uint64_t sum = 0, state = 1;
    for (long request = static_cast<long>(60000 * scale); request > 0; request--) {
        const std::uint64_t key = next_number(state) % 12000;
        Block &answer = cache[cured ? key % 1000 : key];
        if (!answer) answer = filled(3000, 1);
        sum += compute(8000, static_cast<unsigned char>(answer[3])) & 1;
    }
    std::printf("%lu\n", sum);
}

[[gnu::noinline]] std::string look_up(std::uint64_t address) {
    return std::to_string(address) + std::string(300, 'g');
}

// Each address is looked up once and its answer kept for ever. Cured, 1,000 of them are.
void unbounded(double scale) {
    std::unordered_map<std::uint64_t, std::string> answers;
    std::uint64_t sum = 0;
    for (std::uint64_t address = 0; address < static_cast<std::uint64_t>(100000 * scale); address++) {
        sum += compute(5000, (answers[address] = look_up(address)).size()) & 1;
        if (cured && answers.size() >= 1000) answers.clear();
    }
    std::printf("%lu\n", sum);
}

} // namespace

int main(int count, char **words) {
    static constexpr reports::Program PROGRAMS[] = {{"peaks", peaks},
                                                    {"beside", beside},
                                                    {"warm-up", warm_up},
                                                    {"saturating", saturating},
                                                    {"unbounded", unbounded}};
    return reports::choose(PROGRAMS, count, words);
}
