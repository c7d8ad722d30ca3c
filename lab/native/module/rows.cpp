#include "module/rows.h"

#include "reap_encode.h"
#include "totals/unmapped.h"

namespace reap::native {

void add_size(std::vector<SizeRow> &out, uint64_t size, uint64_t objects, uint64_t bytes) {
    if (objects > 0) out.emplace_back(size, size, objects, bytes);
}

void add_bin(std::vector<SizeRow> &out, unsigned bin, uint64_t objects, uint64_t bytes) {
    if (objects == 0) return;
    const uint64_t low = format::large_bin_low(bin);
    const uint64_t high = bin + 1 < REAP_LARGE_BINS ? format::large_bin_low(bin + 1) - 1 : UINT64_MAX;
    out.emplace_back(low, high, objects, bytes);
}

std::vector<SizeRow> size_rows(const BySize &sizes) {
    std::vector<SizeRow> out;
    for (uint64_t size = 0; size < REAP_EXACT_SIZES; ++size) {
        add_size(out, size, sizes.exact[size], sizes.exact[size] * size);
    }
    for (unsigned bin = 0; bin < REAP_LARGE_BINS; ++bin) {
        add_bin(out, bin, sizes.large_objects[bin], sizes.large_bytes[bin]);
    }
    return out;
}

// Frames of a stack, of which Python may have made several of one.
constexpr size_t kMostRows = size_t{4} * REAP_MOST_FRAMES;

std::vector<FrameRow> frame_rows(const Definitions &definitions, ModuleNames &names, uint32_t image,
                                 uint32_t stack) {
    std::vector<FrameRow> out;
    for (size_t depth = 0; depth < kMostRows && stack != 0; ++depth) {
        const Frame *frame = definitions.frame(image, stack);
        if (frame == nullptr) break;
        const uint64_t call = frame->address - 1; // inside the call instruction, not behind it
        if (const Module *module = definitions.module_of(image, stack)) {
            const uint64_t address = call - module->bias;
            for (const SourceFrame &source : names.resolve(*module, address)) {
                out.push_back(frame_row(module->path, address, source));
            }
        } else if (const SourceFrame source = unmapped_frame(definitions, image, frame->address);
                   !source.function.empty()) {
            const bool left_out = frame->address == REAP_FRAMES_LEFT_OUT;
            out.push_back(frame_row("", left_out ? 0 : call & ~REAP_PYTHON_FRAME, source));
        } else {
            out.push_back(unknown_frame(call));
        }
        stack = frame->parent;
    }
    return out;
}

} // namespace reap::native
