// Temporaries, small gains, and patterns of growth: rebuilt from public reports, see
// ../../truth/reports_repeats.py.
#include "reports.h"

#include <map>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using reports::compute, reports::cured, reports::next_number;

namespace {

[[gnu::noinline]] void join(std::string &path, std::string_view folder, std::string_view name) {
    path.assign(folder).append("/").append(name);
}

// A path is put together for each look-up. Cured, in a string that is used again.
void paths(double scale) {
    const std::string folder = "/var/lib/transfers/complete/of-the-user";
    std::string kept;
    std::uint64_t sum = 0, state = 1;
    for (long turn = static_cast<long>(10000000 * scale); turn > 0; turn--) {
        std::string fresh, &path = cured ? kept : fresh;
        join(path, folder, next_number(state) % 2 ? "resume-file.dat" : "torrent-file.dat");
        sum += path.size() + static_cast<unsigned char>(path[20]);
    }
    std::printf("%lu\n", sum);
}

// Three counters are found by names that are made into strings each time. Cured, once.
void counters(double scale) {
    static constexpr const char *NAMES[] = {"lazyLoadCpuNanoseconds", "lazyLoadWallNanoseconds",
                                            "lazyLoadInputBytes.all"};
    std::map<std::string, std::uint64_t> totals;
    const std::string kept[] = {NAMES[0], NAMES[1], NAMES[2]};
    std::uint64_t state = 1;
    for (long turn = static_cast<long>(5000000 * scale); turn > 0; turn--)
        for (std::size_t at = 0; at < 3; at++) {
            state = state * 3 + 1;
            if (cured)
                totals[kept[at]] += state & 1;
            else
                totals[std::string(NAMES[at])] += state & 1;
        }
    std::printf("%lu\n", totals[kept[0]] + totals[kept[2]]);
}

// Work beside batches of blocks, a part of which another allocator saves: `turns` of work say how much.
void batches(double scale, std::uint64_t turns) {
    std::uint64_t sum = 0, state = 1;
    std::unique_ptr<char[]> kept[100];
    for (auto &block : kept) block.reset(cured ? new char[512] : nullptr);
    for (long turn = static_cast<long>(90000 * scale); turn > 0; turn--) {
        std::unique_ptr<char[]> fresh[100];
        auto &blocks = cured ? kept : fresh;
        for (auto &block : blocks) {
            const std::size_t size = 100 + next_number(state) % 400;
            if (!cured) block.reset(new char[size]);
            block[0] = static_cast<char>(size);
        }
        for (const auto &block : blocks) sum += static_cast<unsigned char>(block[0]);
        state = compute(turns, state);
    }
    std::printf("%lu\n", sum);
}

void tree_time(double scale) { batches(scale, 2000); }
void analysis(double scale) { batches(scale, 7000); }

// A table of blocks has room for one more before each insertion, so that it is copied each time. Cured, it
// grows by itself.
void segments(double scale) {
    struct Segment {
        std::uint64_t key;
        std::string name;
    };
    std::uint64_t sum = 0;
    for (int round = static_cast<int>(5 * scale); round >= 0; round--) {
        std::vector<Segment> segments;
        for (std::uint64_t key = 0; key < 6000; key++) {
            if (!cured) segments.reserve(segments.size() + 1);
            segments.push_back({key, "s"});
        }
        sum += segments.back().key;
    }
    std::printf("%lu\n", sum);
}

// Memory of a document: taken from chunks that are never returned.
class Pool {
    std::vector<std::unique_ptr<char[]>> chunks;
    std::size_t left = 0;
    char *at = nullptr;

  public:
    static constexpr std::size_t CHUNK = 64 << 10;

    [[gnu::noinline]] void *allocate(std::size_t size) {
        if (left < size) {
            chunks.emplace_back(new char[CHUNK]);
            at = chunks.back().get();
            left = CHUNK;
        }
        left -= size;
        return std::exchange(at, at + size);
    }
    void clear() {
        if (chunks.empty()) return;
        chunks.resize(1);
        at = chunks[0].get();
        left = CHUNK;
    }
};

// Every message is parsed into one document, whose pool grows. Cured, it is cleared for each.
void documents(double scale) {
    Pool pool;
    std::uint64_t sum = 0, state = 1;
    for (long message = static_cast<long>(12000 * scale); message > 0; message--) {
        if (cured) pool.clear();
        for (int member = 0; member < 40; member++) {
            auto *value = static_cast<char *>(pool.allocate(160));
            std::memset(value, member, 160);
            sum += static_cast<unsigned char>(value[3]);
        }
        state = compute(20000, state);
    }
    std::printf("%lu %lu\n", sum, state);
}

// A request's buffer of 1 KB on the stack, and 5 KB that it needs: the rest is allocated from upstream.
// Cured, the buffer has 16 KB.
void overflow(double scale) {
    std::uint64_t sum = 0;
    char buffer[16 << 10];
    for (long request = static_cast<long>(800000 * scale); request > 0; request--) {
        std::pmr::monotonic_buffer_resource resource(buffer, cured ? sizeof buffer : 1 << 10);
        std::pmr::vector<std::pmr::string> fields(&resource);
        fields.reserve(40);
        for (int field = 0; field < 40; field++) fields.emplace_back(90, 'f');
        sum += fields.back().size() + fields.size();
    }
    std::printf("%lu\n", sum);
}

} // namespace

int main(int count, char **words) {
    static constexpr reports::Program PROGRAMS[] = {
        {"paths", paths},       {"counters", counters},   {"tree-time", tree_time}, {"analysis", analysis},
        {"segments", segments}, {"documents", documents}, {"overflow", overflow}};
    return reports::choose(PROGRAMS, count, words);
}
