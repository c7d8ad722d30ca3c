// Requests that allocate: each makes a number of objects of the sizes of a parsed document, reads them and
// frees them. The program of the study of the allocator wall, which asks it more than a variant says:
// `request-driver ask NAME ...`.
//
// Naive: each object from malloc and back. Custom: a region for each request. Scale: thousands of requests.

#include <cstdio>
#include <map>
#include <string_view>
#include <vector>

#include "ask.h"
#include "common/workload.h"
#include "cost.h"
#include "heap.h"
#include "latency.h"
#include "malloc_facts.h"
#include "requests.h"

namespace {

constexpr std::size_t objects = 100;

int asked(std::span<char *const> words) {
    const std::map<std::string_view, void (*)(const ask::Words &)> known{
        {"cost", cost::answer},      {"locks", cost::locks},          {"climb", heap::climb},
        {"steady", heap::steady},    {"arenas", facts::arenas},       {"cache", facts::cache},
        {"classes", facts::classes}, {"threshold", facts::threshold}, {"jemalloc", facts::jemalloc},
        {"receive", facts::receive},
    };
    const std::string_view name = words.empty() ? "" : words.front();
    const ask::Words rest(words.empty() ? words : words.subspan(1));
    if (const auto memory = rest.word("memory", "malloc");
        !requests::with(memory, 0, [](auto && /*any*/) {})) {
        std::fprintf(stderr, "request-driver: there is no memory '%s'\n", memory.c_str());
        return 2;
    }
    if (name == "latency") return latency::answer(rest) ? 0 : 1;
    const auto found = known.find(name);
    if (found == known.end()) {
        std::fprintf(stderr,
                     "request-driver: cannot be asked this; usage: request-driver ask cost objects 10\n");
        return 2;
    }
    found->second(rest);
    return 0;
}

} // namespace

int main(int count, char **words) {
    if (count > 1 && std::string_view(words[1]) == "ask") return asked(std::span(words + 2, words + count));
    workload::Options options{.scale = 200};
    if (!workload::read(count, words, options)) return 2;
    workload::Checksum checksum;
    requests::with(options.naive ? "malloc" : "region", objects, [&](auto &&memory) {
        std::vector<void *> made(objects);
        for (std::size_t n = 0; n < options.scale * 1000; ++n)
            checksum.add(requests::answer(memory, made, objects, requests::whole_text, n));
    });
    std::printf("%zu thousand requests\n", options.scale);
    workload::print(checksum);
    return 0;
}
