// The reader of drag recordings against hostile files: whatever the bytes, it neither crashes nor takes more
// memory than they justify.
#include <cstddef>
#include <cstdint>

#include "../test/drag_builder.h"
#include "drag/level.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    using namespace reap::native;
    reap::test::DragBuilder builder(size > 0 ? UINT32_MAX - data[0] * 8u : 0);
    builder.bytes().insert(builder.bytes().end(), data, data + size);
    const DragAccess access = size % 2 == 0 ? DragAccess::All : DragAccess::BeforeFree;
    const DragFile file(builder.write(), 5, access);
    for (const DragLevel level : {DragLevel::Objects, DragLevel::Chunks}) {
        const DragSummary summary(file, level, 7);
        std::vector<uint32_t> stacks;
        for (const auto &[stack, site] : summary.sites()) {
            stacks.push_back(stack);
            for (const DragFrame &frame : file.frames(stack)) (void)file.module(frame.module);
        }
        (void)summary.freed_early({stacks, {}}, 1);
    }
    return 0;
}
