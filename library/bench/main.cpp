#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include "registry.h"

// The workloads, each with all contenders one after another: Google Benchmark's program with three options
// more.
//
//   --load=NAME=LIBRARY           malloc, and heaps or arenas, of a library; as often as you like
//   --rotate=N                    the N-th contender is first; bench/run.py turns it from round to round
//   --peak=WORKLOAD/CONTENDER     one turn alone, and by how many bytes the peak of resident memory rose

namespace {

bool starts(std::string_view argument, std::string_view option, std::string &value) {
    if (!argument.starts_with(option)) return false;
    value = argument.substr(option.size());
    return true;
}

void load(const std::string &option) {
    const std::size_t split = option.find('=');
    const std::string path = split == std::string::npos ? "" : option.substr(split + 1);
    // Its own malloc stays its own: the program's is glibc's.
    void *const library =
        path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (library == nullptr) {
        std::fprintf(stderr, "bench: cannot load %s (%s); it is to be NAME=/path/to/library.so\n",
                     option.c_str(), path.empty() ? "no path" : dlerror());
        std::exit(2);
    }
    for (auto *const loader : bench::loaders()) loader({option.substr(0, split), library});
}

long status_kib(std::string_view field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(field)) return std::atol(line.c_str() + field.size() + 1);
    return 0;
}

int peak(const std::string &name) {
    for (const bench::Entry &entry : bench::registry()) {
        if (entry.workload + "/" + entry.contender != name) continue;
        bench::Input::get();
        static long before = 0;
        entry.once([] {
            std::ofstream("/proc/self/clear_refs") << "5"; // the peak starts again
            before = status_kib("VmRSS");
        });
        std::printf("%ld\n", (status_kib("VmHWM") - before) * 1024);
        return 0;
    }
    std::fprintf(stderr, "bench: there is no %s; --benchmark_list_tests names what there is\n", name.c_str());
    return 2;
}

} // namespace

int main(int argc, char **argv) {
    std::string rotate = "0";
    std::string peak_of;
    int kept = 1;
    for (int number = 1; number < argc; ++number) {
        std::string value;
        if (starts(argv[number], "--load=", value)) {
            load(value);
        } else if (!starts(argv[number], "--rotate=", rotate) && !starts(argv[number], "--peak=", peak_of)) {
            argv[kept++] = argv[number];
        }
    }
    if (!peak_of.empty()) return peak(peak_of);

    auto &entries = bench::registry();
    // By workload, in the order of the tables; what stands first within each is turned.
    const std::size_t workloads = 10;
    const std::size_t contenders = entries.size() / workloads;
    const std::size_t shift = std::strtoul(rotate.c_str(), nullptr, 10);
    for (std::size_t workload = 0; workload < workloads; ++workload) {
        for (std::size_t number = 0; number < contenders; ++number) {
            const bench::Entry &entry = entries[(number + shift) % contenders * workloads + workload];
            if (entry.workload == "phase") continue;
            auto *const added =
                benchmark::RegisterBenchmark((entry.workload + "/" + entry.contender).c_str(), entry.measure);
            if (entry.turns > 0) added->Iterations(entry.turns);
        }
    }
    benchmark::Initialize(&kept, argv);
    if (benchmark::ReportUnrecognizedArguments(kept, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
