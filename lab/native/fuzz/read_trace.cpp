// The reader against hostile files: whatever the bytes, it neither crashes nor takes more memory than they
// justify.
//
// The input is cut into blocks (kind, image, thread, sequence, length, payload), so that the fuzzer reaches
// the records and does not spend its time on 64 KB of padding and checksums.
#include <cstddef>
#include <cstdint>
#include <string>

#include "../test/trace_builder.h"
#include "names/keep.h"
#include "outside/outside.h"
#include "outside/watched.h"
#include "sites/history.h"
#include "totals/aggregate.h"
#include "totals/call_tree.h"
#include "totals/event_rows.h"
#include "totals/growing.h"
#include "totals/slices.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    using namespace reap::native;
    size_t at = 0;
    const auto byte = [&]() -> unsigned { return at < size ? data[at++] : 0u; };
    reap::test::TraceBuilder trace(byte() % 2 != 0 ? REAP_DEPTH_TRIAGE : REAP_DEPTH_FULL);
    const auto word = [&] {
        uint64_t value = 0;
        for (int i = 0; i < 8; ++i) value = value << 8 | byte();
        return value;
    };
    if (byte() % 4 == 0) {
        trace.header().ticks_per_second = word();
        trace.header().start_ticks = word();
        trace.header().end_ticks = word();
        trace.header().start_monotonic_ns = word();
        trace.header().end_monotonic_ns = word();
        trace.header().part.began_ticks = word();
        trace.header().part.ended_ticks = word();
        trace.header().part.ring_blocks = byte() % 2;
    }
    while (at < size) {
        const auto kind = static_cast<reap_block_kind>(byte() % 7);
        const reap::test::Where where{byte() % 4, byte() % 4, byte() % 4};
        const size_t length = byte() | byte() << 8;
        std::vector<unsigned char> payload(data + at, data + std::min(size, at + length));
        at += payload.size();
        // Nobody finds a block of 62 KB by chance.
        if (kind == REAP_BLOCK_REQUESTS && byte() % 2 != 0) payload.resize(sizeof(reap_requests));
        trace.raw_block(kind, where, payload, byte() % 2 != 0);
    }
    const std::string path = trace.write();
    BlockFile file(path);
    const Definitions definitions(file);
    const Summary summary = aggregate(file, definitions);
    for (const RequestTotals &totals : summary.requests) {
        request_quantile(totals.by_allocations, totals.most_allocations, 0.99);
    }
    Growing growing(path);
    growing.update(100, false);
    while (growing.update(100, true)) {
    }
    (void)growing.stacks(10);
    Symbolizer symbols;
    ModuleFiles files(symbols, file.began_unix_ns());
    ModuleNames names(definitions, symbols, files);
    const CallTree tree = call_tree(summary, definitions, names, 0);
    (void)call_tree(summary, definitions, names, 0.1);
    (void)names.uncertain();
    read_event_rows(file, definitions, summary, tree, 1000, true, [](EventRows &&) {});
    (void)call_slices(file, definitions, summary, tree, tree.at, 10);
    (void)site_histories(file, definitions, summary, std::vector<SiteStack>{{0, 1, 0}, {0, 2, 1}, {1, 1, 2}},
                         3, 10, 1000);
    read_outside(file, definitions, symbols, {"libreap-record.so", {}, {{1, 0, 1}}});
    read_watched(file, definitions, symbols, "libreap-record.so", {{}, {"malloc"}});
    for (const ImageTotals &image : summary.images) {
        for (uint32_t stack = 0; stack < image.sites.size(); ++stack) {
            const Frame *frame = definitions.frame(image.image, stack);
            for (int depth = 0; frame != nullptr && depth < 512; ++depth) {
                (void)definitions.module(image.image, frame->address);
                frame = definitions.frame(image.image, frame->parent);
            }
        }
    }
    (void)keep_names(path, {"libreap-record.so", {}, {}, byte() % 2 != 0});
    BlockFile kept(path);
    const Definitions again(kept);
    return 0;
}
