// make-trace FILE triage|full PERIOD: an empty trace. PERIOD is the mean gap in bytes between samples, 0:
// steered.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "trace/writer.h"

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s FILE triage|full PERIOD\n", argv[0]);
        return 2;
    }
    try {
        reap::native::TraceOptions options;
        options.depth = std::strcmp(argv[2], "full") == 0 ? REAP_DEPTH_FULL : REAP_DEPTH_TRIAGE;
        options.period_bytes = std::strtoull(argv[3], nullptr, 10);
        reap::native::create_trace(argv[1], options);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        return 1;
    }
    return 0;
}
