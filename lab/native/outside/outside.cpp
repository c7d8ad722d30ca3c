#include "outside/outside.h"

#include <algorithm>
#include <optional>

#include "outside/places.h"
#include "outside/records.h"

namespace reap::native {
namespace {

class Judge {
  public:
    Judge(const Definitions &definitions, Symbolizer &symbols, const Context &context)
        : places_(definitions, symbols, {context.allocators, {}}), recorder_(context.recorder) {}

    void map(uint32_t pid, Mapping mapping) { places_.map(pid, std::move(mapping)); }

    void judge(uint32_t pid, bool kernel, uint64_t pointer, const std::vector<uint64_t> &stack,
               SampleTotals &out) {
        const std::optional<Place> place = places_.find(pid, pointer);
        if (place && place->path.ends_with(recorder_)) {
            ++out.recorder;
            return;
        }
        ++out.all;
        if (kernel) ++out.kernel;
        if (!place) {
            ++out.unknown;
            return;
        }
        // In the kernel (brk, mmap, munmap, madvise) the allocator may be the caller of libc's wrapper.
        if ((kernel ? places_.called_by_allocator(pid, *place, stack) : places_.in_allocator(*place)) ||
            places_.fills_for_allocator(pid, *place, stack, recorder_)) {
            ++out.inside;
            if (kernel) ++out.kernel_inside;
        }
    }

  private:
    Places places_;
    std::string recorder_;
};

SampleTotals totals_of(const KeptNames::Samples &kept) {
    const auto &[all, inside, kernel_inside, kernel, recorder, unknown] = kept;
    return {all, inside, kernel_inside, kernel, recorder, unknown};
}

bool left_out(const std::vector<Window> &windows, uint32_t pid, uint64_t ticks) {
    return std::ranges::any_of(windows, [&](const Window &window) {
        return window.pid == pid && ticks >= window.begin && ticks < window.end;
    });
}

} // namespace

Outside read_outside(BlockFile &file, const Definitions &definitions, Symbolizer &symbols,
                     const Context &context) {
    Outside out;
    Judge judge(definitions, symbols, context);
    const KeptNames::Samples *const kept =
        context.allocators.empty() && context.left_out.empty() ? definitions.kept().samples() : nullptr;
    if (kept != nullptr) out.samples = totals_of(*kept);
    const RunPart &part = file.part();
    each_record(file, [&](uint8_t tag, uint64_t ticks, uint32_t pid, RecordReader fields) {
        const bool inside = ticks >= part.begin && ticks <= part.end;
        if (tag == REAP_TAG_RESIDENT) {
            const uint64_t bytes = fields.varint();
            const uint64_t anonymous = fields.done() ? 0 : fields.varint();
            if (inside && fields.good()) out.resident.push_back({ticks, bytes, anonymous});
        } else if (tag == REAP_TAG_UNRECORDED) {
            const uint64_t reason = fields.varint();
            const std::string_view executable = fields.string();
            if (fields.good()) out.unrecorded.push_back({pid, reason, std::string(executable)});
        } else if (tag == REAP_TAG_MAPPING && kept == nullptr) {
            const uint64_t start = fields.varint();
            const uint64_t length = fields.varint();
            const uint64_t offset = fields.varint();
            const std::string_view path = fields.string();
            if (fields.good()) judge.map(pid, {start, start + length, offset, std::string(path)});
        } else if (tag == REAP_TAG_IP && kept == nullptr) {
            fields.varint(); // thread
            const uint64_t mode = fields.varint();
            const uint64_t pointer = fields.varint();
            const uint64_t count = fields.varint();
            std::vector<uint64_t> stack;
            for (uint64_t i = 0; i < count && fields.good(); ++i) stack.push_back(fields.varint());
            if (inside && fields.good() && !left_out(context.left_out, pid, ticks)) {
                judge.judge(pid, mode != 0, pointer, stack, out.samples);
            }
        }
    });
    std::stable_sort(out.resident.begin(), out.resident.end(),
                     [](const ResidentPoint &a, const ResidentPoint &b) { return a.ticks < b.ticks; });
    return out;
}

} // namespace reap::native
