// Boils events down as they come.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "totals/aggregate.h"
#include "totals/live_table.h"
#include "trace/event_stream.h"

namespace reap::native {

// `aggregate` in steps, for a file that grows. Memory as there.
class Aggregator {
  public:
    Aggregator(BlockFile &file, const Definitions &definitions);

    // Adds what the blocks that the file has now counted; once.
    void read_counts();
    void read_requests();

    // Of full depth, has the most in use between bounds: where several streams have events without a stamp.
    // Without it their order is taken to be known.
    void bound() noexcept { bounded_ = out_.depth == REAP_DEPTH_FULL; }

    // A stream whose events are to be taken.
    void begin(EventStream &stream);
    // Takes the events of these streams as `merge_runs` does. What an image has in use is removed behind the
    // last event of all its streams.
    bool take(const std::vector<EventStream *> &streams, uint64_t horizon, uint64_t most);

    // What was taken so far, without the images.
    [[nodiscard]] const Summary &totals() const noexcept { return out_; }
    // Calls `visit(image number, sites by stack)` for each image; at_peak may be of an older peak.
    template <class Visit>
    void each_image(Visit visit) const {
        for (const ImageState &image : states_) visit(image.totals.image, image.totals.sites);
    }

    // A sampled call took so long; of those that are taken it is known.
    void latency(const Event &event, uint8_t call, double weight);

    // A sampled block was freed.
    void returned(double weight, bool by_other_thread) { out_.returned.add(weight, by_other_thread); }

    // Everything; nothing may be taken after it.
    Summary finish();

  private:
    struct ImageState {
        ImageTotals totals;
        LiveTable<Live> live;
        LiveTable<SampledLive> sampled;
        uint32_t streams = 0;        // still to be read
        uint32_t allocations = 0;    // in full depth: how many so far
        std::vector<uint32_t> last;  // by thread: the ordinal of its last allocation, 0 before it
        std::deque<OpenEvents> open; // by thread
        InUseBounds bounds;
    };

    // Samples without their weights.
    struct Seen {
        double objects = 0;
        double bytes = 0;
        void add(uint64_t size) noexcept {
            objects += 1;
            bytes += static_cast<double>(size);
        }
    };

    void handle(EventStream &stream, std::span<const Event> events);
    void handle_other(EventStream &stream, const Event &event);
    void allocate(ImageState &image, const Event &event, uint32_t ordinal);
    void sample(ImageState &image, const Event &event);
    bool free(ImageState &image, const Event &event, uint32_t last);
    void sample_end(ImageState &image, const Event &event);
    template <class Value>
    void put_in(ImageState &image, LiveTable<Value> &table, const Event &event, const Value &block);
    template <class Value>
    void take_out(ImageState &image, const Value &live);
    template <class Value>
    void freed(ImageState &image, LiveTable<Value> &table, const Event &event, const Value &live,
               bool temporary);
    void remove_size(uint64_t size);
    void visit(ImageState &image, OpenEvents &open, bool stamped);
    void change(ImageState &image, double objects, double bytes);
    void image_ended(ImageState &image);
    SiteTotals &site(ImageState &image, uint32_t stack);
    SizeInUse &size_in_use(uint64_t size);
    [[gnu::noinline, gnu::cold]] uint32_t make_room(ImageTotals &totals, uint32_t stack) const;
    // Whether counters say how many blocks are in use: not where some were allocated before it began.
    [[nodiscard]] bool counts_blocks_in_use() const noexcept {
        return file_.header().attached == 0 && !file_.part().begins_late();
    }
    void vary(ImageTotals &totals, const Event &event, double weight) const;
    static void see_temporary(ImageTotals &totals, uint32_t stack);
    void scale_to_counts();
    size_t place_of(uint32_t image);

    BlockFile &file_;
    const Definitions &definitions_;
    Summary out_;
    std::vector<ImageState> states_; // complete while events are taken
    std::unordered_map<uint32_t, size_t> places_;
    uint64_t peak_epoch_ = 0;   // of bytes
    uint64_t number_epoch_ = 0; // of blocks
    CountedBlocks counted_;
    std::array<Seen, kLifetimeBins> lifetimes_seen_;
    Seen immortal_seen_;
    bool bounded_ = false;
    InUseBounds bounds_;
    OpenEvents *open_ = nullptr; // of the stream of the event at hand, if that has no stamp
    double ns_per_tick_ = 1;
};

} // namespace reap::native
