// Threads that live under a millisecond: programs rebuilt from public reports, see
// ../../truth/reports_threads.py.
#include "reports.h"

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

using reports::compute, reports::cured, reports::next_number;

namespace {

// Does a piece of work in a thread of its own.
std::uint64_t in_thread(const std::function<std::uint64_t()> &work) {
    std::uint64_t result = 0;
    std::thread([&] { result = work(); }).join();
    return result;
}

// The tree of hashes over a block: each level is a vector of nodes of 1.2 KB. Cured, one vector is kept.
void merkle(double scale) {
    struct Digest {
        std::uint64_t words[150];
    };
    static std::vector<Digest *> kept;
    for (int at = 0; cured && at < 64; at++) kept.push_back(new Digest);
    std::uint64_t sum = 0;
    for (long block = static_cast<long>(5000 * scale); block > 0; block--) {
        sum += in_thread([block] {
            std::uint64_t root = static_cast<std::uint64_t>(block);
            for (int level = 0; level < 60; level++) {
                Digest *nodes[64];
                for (int at = 0; at < 64; at++) {
                    nodes[at] = cured ? kept[static_cast<std::size_t>(at)] : new Digest;
                    nodes[at]->words[0] = root + static_cast<std::uint64_t>(at);
                }
                for (int at = 0; at < 64; at++) {
                    Digest *node = nodes[(at * 7) % 64];
                    root = root * 31 + node->words[0];
                    if (!cured) delete node;
                }
            }
            return root;
        });
        sum = compute(10000, sum);
    }
    std::printf("%lu\n", sum);
}

// A thread for each request, which keeps its answer's headers in a map of strings. Cured, a static array of
// views takes them.
void requests(double scale) {
    static const char *const NAMES[] = {"content-type-of-the-answer", "content-length-of-the-answer",
                                        "cache-control-for-the-answer", "server-that-made-the-answer"};
    std::uint64_t sum = 0;
    for (long request = static_cast<long>(6000 * scale); request > 0; request--)
        sum += in_thread([request] {
            std::uint64_t size = 0;
            for (int part = 0; part < 150; part++) {
                if (cured) {
                    for (const char *name : NAMES) size += std::strlen(name) + 100;
                    continue;
                }
                std::map<std::string, std::string> headers;
                for (const char *name : NAMES) headers[name] = std::string(100, 'v');
                for (const auto &[name, value] : headers) size += name.size() + value.size();
            }
            return size + static_cast<std::uint64_t>(request & 1);
        });
    std::printf("%lu\n", sum);
}

// Each thread grows one buffer from 4 KiB to 1 MiB and ends. Cured, the buffer is made once for all of them.
void buffers(double scale) {
    constexpr std::size_t LARGEST = 1 << 20;
    static char *const all = static_cast<char *>(std::malloc(LARGEST));
    std::uint64_t sum = 0;
    for (long turn = static_cast<long>(9000 * scale); turn > 0; turn--)
        sum += in_thread([turn] {
            char *buffer = nullptr;
            std::uint64_t seen = 0;
            for (std::size_t size = 4096, old = 0; size <= LARGEST; old = size, size *= 4) {
                buffer = cured ? all : static_cast<char *>(std::realloc(buffer, size));
                std::memset(buffer + old, static_cast<int>(turn), size - old);
                seen += static_cast<unsigned char>(buffer[size - 1]);
            }
            if (!cured) std::free(buffer);
            return seen;
        });
    std::printf("%lu\n", sum);
}

// Threads that compute, and allocate nothing. Cured, one thread does all of it.
void hidden(double scale) {
    std::uint64_t sum = 0;
    const long turns = static_cast<long>(5000 * scale);
    const auto work = [&sum] { return sum = compute(100000, sum + 1); };
    if (cured)
        in_thread([&] {
            for (long turn = 0; turn < turns; turn++) work();
            return sum;
        });
    for (long turn = 0; !cured && turn < turns; turn++) in_thread(work);
    std::printf("%lu\n", sum);
}

} // namespace

int main(int count, char **words) {
    static constexpr reports::Program PROGRAMS[] = {
        {"merkle", merkle}, {"requests", requests}, {"buffers", buffers}, {"hidden", hidden}};
    return reports::choose(PROGRAMS, count, words);
}
