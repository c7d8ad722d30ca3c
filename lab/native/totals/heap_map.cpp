#include "totals/heap_map.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "trace/merge.h"

namespace reap::native {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLine = 64;
// A larger block is damage, or so large that its pages are not worth a walk.
constexpr uint64_t kMostBytes = uint64_t{1} << 32;

struct Block {
    uint64_t size;
    bool program;
};

struct PageUse {
    uint64_t litter = 0;
    uint64_t program = 0;
};

// The image that was littered: of those with its pid the last that had begun by then.
uint32_t image_of(const Definitions &definitions, uint32_t pid, uint64_t until) {
    uint32_t found = 0;
    uint64_t latest = 0;
    for (const ImageInfo &image : definitions.images()) {
        if (image.pid != pid || image.first_ticks > until || image.first_ticks < latest) continue;
        latest = image.first_ticks;
        found = image.number;
    }
    return found;
}

class Walker {
  public:
    Walker(uint32_t image, uint32_t pid, const std::vector<Window> &littered)
        : image_(image), pid_(pid), littered_(littered) {}

    // Without pages: only finds the event at which the program has most blocks.
    void walk(BlockFile &file, bool pages, uint64_t events) {
        pages_kept_ = pages;
        left_ = events;
        merge(event_streams(file), [this](EventStream &stream, const Event &event) {
            if (stream.image() == image_ && left_ > 0) handle(stream.thread(), event);
        });
    }

    [[nodiscard]] uint64_t peak_event() const noexcept { return peak_event_; }
    [[nodiscard]] const std::map<uint64_t, PageUse> &pages() const noexcept { return pages_; }

    HeapMap out;

  private:
    void handle(uint32_t thread, const Event &event) {
        --left_;
        ++event_;
        if (event.what == What::Free) return take_out(event.address);
        if (event.what != What::Alloc || event.address == 0) return;
        take_out(event.address); // allocated again without a free that was seen
        const bool program = !in_litter(event.ticks);
        blocks_[event.address] = {event.size, program};
        spread(event.address, event.size, program, 1);
        if (!program) return;
        count_run(thread, event);
        out.program_bytes += event.size;
        if (++out.program_objects > most_) {
            most_ = out.program_objects;
            peak_event_ = event_;
        }
    }

    void take_out(uint64_t address) {
        const auto found = blocks_.find(address);
        if (found == blocks_.end()) return;
        const auto [size, program] = found->second;
        spread(address, size, program, -1);
        if (program) {
            --out.program_objects;
            out.program_bytes -= size;
        }
        blocks_.erase(found);
    }

    [[nodiscard]] bool in_litter(uint64_t ticks) const {
        return std::ranges::any_of(littered_, [&](const Window &window) {
            return window.pid == pid_ && ticks >= window.begin && ticks <= window.end;
        });
    }

    // Adds the block's bytes to its pages, or takes them away; pages stay known.
    void spread(uint64_t address, uint64_t size, bool program, int sign) {
        if (!pages_kept_ || size > kMostBytes || address > UINT64_MAX - kMostBytes) return;
        const uint64_t end = address + std::max<uint64_t>(size, 1);
        for (uint64_t at = address; at < end;) {
            const uint64_t next = std::min(end, (at / kPage + 1) * kPage);
            PageUse &use = pages_[at / kPage];
            uint64_t &bytes = program ? use.program : use.litter;
            bytes = sign > 0 ? bytes + (next - at) : bytes - (next - at);
            at = next;
        }
    }

    void count_run(uint32_t thread, const Event &event) {
        const auto [place, first] = ends_.try_emplace(thread, End{0, 0});
        End &end = place->second;
        const uint64_t gap = event.address - end.address; // wraps where it lies before
        const bool behind = !first && event.address >= end.address && gap <= kLine + event.size / 4;
        end.length = behind ? end.length + 1 : 1;
        end.address = event.address + event.size;
        ++out.allocations;
        if (!behind) ++out.runs;
        out.longest_run = std::max(out.longest_run, end.length);
    }

    struct End {
        uint64_t address;
        uint64_t length;
    };

    uint32_t image_;
    uint32_t pid_;
    const std::vector<Window> &littered_;
    bool pages_kept_ = false;
    uint64_t left_ = 0;
    uint64_t event_ = 0;
    uint64_t most_ = 0;
    uint64_t peak_event_ = 0;
    std::unordered_map<uint64_t, Block> blocks_;
    std::unordered_map<uint32_t, End> ends_; // by thread
    std::map<uint64_t, PageUse> pages_;
};

} // namespace

HeapMap heap_map(BlockFile &file, const Definitions &definitions, uint32_t pid,
                 const std::vector<Window> &littered, size_t cells) {
    uint64_t until = 0;
    for (const Window &window : littered) until = std::max(until, window.end);
    const uint32_t image = image_of(definitions, pid, until);
    HeapMap whole;
    uint64_t peak_event = 0;
    {
        // Gone before the second begins: each holds a map of every block in use.
        Walker first(image, pid, littered);
        first.walk(file, false, UINT64_MAX);
        whole = first.out;
        peak_event = first.peak_event();
    }
    Walker second(image, pid, littered);
    second.walk(file, true, peak_event);

    HeapMap out = second.out;
    out.allocations = whole.allocations;
    out.runs = whole.runs;
    out.longest_run = whole.longest_run;
    out.pages = second.pages().size();
    const uint64_t width = std::max<uint64_t>((out.pages + cells - 1) / cells, 1);
    uint64_t place = 0;
    for (const auto &[page, use] : second.pages()) {
        if (place++ % width == 0) out.cells.emplace_back();
        HeapCell &cell = out.cells.back();
        cell.litter += use.litter;
        cell.program += use.program;
        ++cell.pages;
        out.litter_bytes += use.litter;
        if (use.litter > 0) ++out.litter_pages;
        if (use.program > 0) ++out.program_pages;
    }
    return out;
}

} // namespace reap::native
