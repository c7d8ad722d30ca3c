// What Python sees of a recording.
#include "module/recording.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "module/results/header.h"
#include "module/results/results.h"
#include "module/rows.h"
#include "module/text.h"
#include "names/names.h"
#include "outside/outside.h"
#include "sites/history.h"
#include "symbols/symbols.h"
#include "totals/aggregate.h"
#include "totals/call_tree.h"
#include "totals/event_rows.h"
#include "totals/slices.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace reap::native {
namespace {

// A process image: what it allocated, and what its definition says, which may be missing.
struct Image {
    explicit Image(const ImageTotals &totals, const ImageInfo &info = {})
        : image(totals.image), objects(totals.objects), bytes(totals.bytes), frees(totals.frees),
          threads(totals.threads), in_use(totals.use), most(totals.most), counted(totals.counted),
          pid(info.pid), ppid(info.ppid), parent(info.parent), flags(info.flags), executable(info.executable),
          provider(info.provider), command(info.command) {}

    uint32_t image;
    uint64_t objects;
    uint64_t bytes;
    uint64_t frees;
    uint32_t threads;
    InUse in_use;
    MostInUse most;
    Counted counted;
    uint32_t pid;
    uint32_t ppid;
    int64_t parent;
    uint32_t flags;
    std::string executable;
    std::string provider;
    std::vector<std::string> command;
};

// Over the marked requests of a phase; percentiles by nearest rank.
struct PerRequest {
    PerRequest(uint64_t all, const std::vector<uint64_t> &bins, uint64_t most)
        : total(all), p50(request_quantile(bins, most, 0.5)), p99(request_quantile(bins, most, 0.99)),
          max(most) {}

    uint64_t total;
    uint64_t p50;
    uint64_t p99;
    uint64_t max;
};

struct RequestCounts {
    explicit RequestCounts(const RequestTotals &totals)
        : phase(totals.phase), count(totals.count),
          allocations(totals.allocations, totals.by_allocations, totals.most_allocations),
          bytes(totals.bytes, totals.by_bytes, totals.most_bytes) {}

    std::string phase;
    uint64_t count;
    PerRequest allocations;
    PerRequest bytes;
};

using LatencyRow = std::tuple<uint8_t, uint64_t, double, double, double, double>;
using StackRow = std::tuple<uint32_t, uint32_t, double, double, double, double, double, double>;

BlockFile &with_every_event(BlockFile &file) {
    file.use_every_event();
    return file;
}

// A trace that has been read. Everything is computed on construction.
class Recording {
  public:
    Recording(const std::string &path, const std::string &recorder,
              const std::vector<std::string> &allocators,
              const std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> &left_out, const Folders &folders,
              bool beside = false)
        : recorder_(recorder), folders_(folders), file_(path, beside ? View::Beside : View::Recorder),
          definitions_(file_), files_(symbols_, file_.began_unix_ns(), folders),
          names_(definitions_, symbols_, files_),
          summary_(reap::native::aggregate(with_every_event(file_), definitions_)),
          outside_(read_outside(file_, definitions_, symbols_, context(recorder, allocators, left_out))) {}

    // What was watched from outside beside the recorder; null: nothing.
    [[nodiscard]] std::unique_ptr<Recording> beside() const {
        const reap_file_header &header = file_.header();
        if (header.beside == 0 || file_.view() == View::Beside) return nullptr;
        return std::make_unique<Recording>(file_.path(), recorder_, std::vector<std::string>(),
                                           std::vector<std::tuple<uint32_t, uint64_t, uint64_t>>(), folders_,
                                           true);
    }

    [[nodiscard]] Header header() const {
        const reap_file_header &header = file_.header();
        return {header,
                header.end_ticks > header.start_ticks ? seconds(header.end_ticks)
                                                      : seconds(summary_.last_ticks),
                header.stop_ticks != 0 ? seconds(header.stop_ticks) : 0.0, file_.part().lead};
    }

    Damage damage() { return file_.damage(); }

    // (key, value), as the user gave them.
    [[nodiscard]] std::vector<std::pair<nb::str, nb::str>> labels() {
        std::vector<std::pair<nb::str, nb::str>> out;
        for (const auto &[key, value] : file_.labels()) out.emplace_back(text(key), text(value));
        return out;
    }

    [[nodiscard]] std::vector<Image> images() const {
        std::vector<Image> out;
        out.reserve(summary_.images.size());
        for (const ImageTotals &totals : summary_.images) {
            const int64_t place = definitions_.find(totals.image);
            out.push_back(place < 0 ? Image(totals)
                                    : Image(totals, definitions_.images()[static_cast<size_t>(place)]));
        }
        return out;
    }

    // (pid, reason, executable) of processes of which nothing is recorded.
    [[nodiscard]] std::vector<std::tuple<uint32_t, uint64_t, nb::str>> unrecorded() const {
        std::vector<std::tuple<uint32_t, uint64_t, nb::str>> out;
        for (const std::vector<UnrecordedProcess> &seen : {definitions_.unrecorded(), outside_.unrecorded}) {
            for (const UnrecordedProcess &each : seen) {
                out.emplace_back(each.pid, each.reason, text(each.executable));
            }
        }
        return out;
    }

    // (pid, version as PY_VERSION_HEX, reason) of interpreters whose functions are not in stacks.
    [[nodiscard]] std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> unknown_interpreters() const {
        std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> out;
        for (const UnknownInterpreter &each : definitions_.unknown())
            out.emplace_back(each.pid, each.version, each.reason);
        return out;
    }

    // (pid, reason) of processes whose map of code compiled at run time was not taken.
    [[nodiscard]] std::vector<std::pair<uint32_t, uint64_t>> refused_maps() const {
        std::vector<std::pair<uint32_t, uint64_t>> out;
        for (const RefusedMap &each : definitions_.refused_maps()) out.emplace_back(each.pid, each.reason);
        return out;
    }

    [[nodiscard]] const Summary &totals() const { return summary_; }

    [[nodiscard]] std::vector<SizeRow> sizes() const { return size_rows(summary_.by_size); }

    // The same of what was in use when the tree had most blocks in use; empty in triage.
    [[nodiscard]] std::vector<SizeRow> sizes_at_peak() const {
        std::vector<SizeRow> out;
        for (uint64_t size = 0; size < REAP_EXACT_SIZES; ++size) {
            const SizeInUse &use = summary_.sizes_in_use[size];
            add_size(out, size, use.peak_objects, use.peak_bytes);
        }
        for (unsigned bin = 0; bin < REAP_LARGE_BINS; ++bin) {
            const SizeInUse &use = summary_.sizes_in_use[REAP_EXACT_SIZES + bin];
            add_bin(out, bin, use.peak_objects, use.peak_bytes);
        }
        return out;
    }

    // (low seconds, high seconds, objects, bytes) of objects that were freed.
    [[nodiscard]] std::vector<std::tuple<double, double, double, double>> lifetimes() const {
        std::vector<std::tuple<double, double, double, double>> out;
        for (size_t bin = 0; bin < kLifetimeBins; ++bin) {
            if (summary_.lifetime_objects[bin] == 0) continue;
            const double low = bin == 0 ? 0.0 : static_cast<double>(UINT64_C(1) << bin) * 1e-9;
            const double high = static_cast<double>(UINT64_C(2) << bin) * 1e-9;
            out.emplace_back(low, high, summary_.lifetime_objects[bin], summary_.lifetime_bytes[bin]);
        }
        return out;
    }

    // (seconds, highest live bytes, allocations) by bin; the width of a bin in seconds comes first.
    [[nodiscard]] std::pair<double, std::vector<std::tuple<double, double, double>>> timeline() const {
        std::vector<std::tuple<double, double, double>> out;
        const Timeline &live = summary_.live;
        double level = 0;
        size_t place = 0;
        for (const Timeline::Bin &bin : live.bins()) {
            const double at = seconds(live.start() + place++ * live.width());
            out.emplace_back(at, bin.seen ? bin.high : level, bin.sum);
            if (bin.seen) level = bin.last;
        }
        return {static_cast<double>(live.width()) / summary_.ticks_per_second, std::move(out)};
    }

    // (seconds, live bytes) at the end of each bin that saw an event.
    [[nodiscard]] std::vector<std::pair<double, double>> levels() const {
        std::vector<std::pair<double, double>> out;
        const Timeline &live = summary_.live;
        size_t place = 0;
        for (const Timeline::Bin &bin : live.bins()) {
            ++place;
            if (bin.seen) out.emplace_back(seconds(live.start() + place * live.width()), bin.last);
        }
        return out;
    }

    // (seconds, bytes) of all processes together.
    [[nodiscard]] std::vector<std::pair<double, uint64_t>> resident() const {
        std::vector<std::pair<double, uint64_t>> out;
        out.reserve(outside_.resident.size());
        for (const ResidentPoint &point : outside_.resident) {
            out.emplace_back(seconds(point.ticks), point.bytes);
        }
        return out;
    }

    // The same without pages of files; empty where the launcher did not say.
    [[nodiscard]] std::vector<std::pair<double, uint64_t>> anonymous() const {
        std::vector<std::pair<double, uint64_t>> out;
        for (const ResidentPoint &point : outside_.resident) {
            if (point.anonymous != 0) out.emplace_back(seconds(point.ticks), point.anonymous);
        }
        return out;
    }

    [[nodiscard]] SampleTotals instruction_samples() const { return outside_.samples; }

    // (call, samples, p50, p90, p99, p99.9) in nanoseconds.
    [[nodiscard]] std::vector<LatencyRow> latencies() const {
        std::vector<LatencyRow> out;
        out.reserve(summary_.latencies.size());
        for (const auto &[call, histogram] : summary_.latencies) {
            out.emplace_back(call, histogram.samples(), histogram.quantile(0.5), histogram.quantile(0.9),
                             histogram.quantile(0.99), histogram.quantile(0.999));
        }
        return out;
    }

    // What marked requests allocated: of all, then by phase.
    [[nodiscard]] std::vector<RequestCounts> requests() const {
        std::vector<RequestCounts> out;
        if (summary_.requests.empty()) return out;
        RequestTotals all;
        for (const RequestTotals &each : summary_.requests) all.add(each);
        out.emplace_back(all);
        for (const RequestTotals &each : summary_.requests) out.emplace_back(each);
        return out;
    }

    // (image, stack, objects, bytes, temporary, live at peak, variance of objects, of bytes) for the `most`
    // stacks with the most objects and as many of the others with the most bytes; by bytes.
    [[nodiscard]] std::vector<StackRow> stacks(size_t most) const {
        struct Row {
            uint32_t image;
            uint32_t stack;
            const SiteTotals *totals;
            SiteVariance variance;
        };
        const auto by_bytes = [](const Row &a, const Row &b) { return a.totals->bytes > b.totals->bytes; };
        std::vector<Row> rows;
        for (const ImageTotals &image : summary_.images) {
            for (uint32_t stack = 0; stack < image.sites.size(); ++stack) {
                if (image.sites[stack].objects <= 0) continue;
                const bool sampled = stack < image.variances.size();
                rows.push_back({image.image, stack, &image.sites[stack],
                                sampled ? image.variances[stack] : SiteVariance{}});
            }
        }
        // Those with the most objects are kept, too: many small blocks are as telling as few large ones.
        if (rows.size() > most) {
            const auto by_objects = [](const Row &a, const Row &b) {
                return a.totals->objects > b.totals->objects;
            };
            std::nth_element(rows.begin(), rows.begin() + static_cast<long>(most), rows.end(), by_objects);
            std::stable_sort(rows.begin() + static_cast<long>(most), rows.end(), by_bytes);
            rows.resize(std::min(rows.size(), 2 * most));
        }
        std::stable_sort(rows.begin(), rows.end(), by_bytes);
        std::vector<StackRow> out;
        out.reserve(rows.size());
        for (const Row &row : rows) {
            out.emplace_back(row.image, row.stack, row.totals->objects, row.totals->bytes,
                             row.totals->temporary, row.totals->at_peak, row.variance.objects,
                             row.variance.bytes);
        }
        return out;
    }

    [[nodiscard]] std::vector<FrameRow> frames(uint32_t image, uint32_t stack) {
        return frame_rows(definitions_, names_, image, stack);
    }

    // (path, why) of modules whose names are missing or uncertain.
    [[nodiscard]] std::vector<std::pair<nb::str, int>> uncertain_modules() {
        std::vector<std::pair<nb::str, int>> out;
        for (const UncertainModule &each : names_.uncertain())
            out.emplace_back(text(each.path), static_cast<int>(each.naming));
        return out;
    }

    // (path, build id in hexadecimal, bits of enum reap_own) of modules, as they were recorded.
    [[nodiscard]] std::vector<std::tuple<nb::str, std::string, uint64_t>> modules() const {
        std::vector<std::tuple<nb::str, std::string, uint64_t>> out;
        for (const ImageInfo &image : definitions_.images()) {
            for (const Module &each : image.modules)
                out.emplace_back(text(each.path), hexadecimal(each.build_id), each.own);
        }
        return out;
    }

    [[nodiscard]] IncompleteStacks incomplete() const { return incomplete_stacks(summary_, definitions_); }

    CallTree calls(double least) { return call_tree(summary_, definitions_, names_, least); }

    void events(const CallTree &tree, size_t most, const nb::typed<nb::callable, void(EventRows)> &take,
                bool matched) {
        read_event_rows(file_, definitions_, summary_, tree, most, matched,
                        [&take](EventRows &&rows) { take(std::move(rows)); });
    }

    CallSlices slices(const CallTree &tree, const std::vector<uint32_t> &groups, uint32_t count) {
        return call_slices(file_, definitions_, summary_, tree, groups, count);
    }

    SiteHistories histories(const std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> &stacks,
                            uint32_t sites, uint32_t slices, uint64_t most) {
        std::vector<SiteStack> listed;
        listed.reserve(stacks.size());
        for (const auto &[image, stack, site] : stacks) listed.push_back({image, stack, site});
        return site_histories(file_, definitions_, summary_, listed, sites, slices, most);
    }

    // What compiled the code at this address of the module that was recorded; empty where that is not known.
    std::string producer(const std::string &path, uint64_t address) {
        for (const ImageInfo &image : definitions_.images()) {
            for (const Module &module : image.modules) {
                if (module.path != path) continue;
                const ModuleFiles::Found &found = files_.of(module);
                return found.naming == Naming::Certain ? symbols_.producer(found.opened, address)
                                                       : std::string();
            }
        }
        return {};
    }

    [[nodiscard]] double slice_seconds(const CallSlices &slices) const {
        return static_cast<double>(slices.width) / summary_.ticks_per_second;
    }

  private:
    static Context context(const std::string &recorder, const std::vector<std::string> &allocators,
                           const std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> &left_out) {
        Context out{recorder, allocators, {}};
        for (const auto &[pid, begin, end] : left_out) out.left_out.push_back({pid, begin, end});
        return out;
    }

    [[nodiscard]] double seconds(uint64_t ticks) const {
        return ticks > summary_.start_ticks
                   ? static_cast<double>(ticks - summary_.start_ticks) / summary_.ticks_per_second
                   : 0.0;
    }

    std::string recorder_;
    Folders folders_;
    BlockFile file_;
    Definitions definitions_;
    Symbolizer symbols_;
    ModuleFiles files_;
    ModuleNames names_;
    Summary summary_;
    Outside outside_;
};

void bind_totals(const nb::module_ &m) {
    nb::class_<InUse>(m, "InUse", "The most that was in use at once, with the variances of the estimates.")
        .def_ro("max_objects", &InUse::max_objects)
        .def_ro("max_objects_variance", &InUse::max_objects_variance)
        .def_ro("max_bytes", &InUse::max_bytes)
        .def_ro("max_bytes_variance", &InUse::max_bytes_variance);
    nb::class_<Between>(m, "Between", "A number, at least and at most.")
        .def_ro("low", &Between::low)
        .def_ro("high", &Between::high);
    nb::class_<MostInUse>(m, "MostInUse",
                          "The most that was in use at once, by the order of events that is "
                          "known; 0 in triage.")
        .def_ro("objects", &MostInUse::objects)
        .def_ro("bytes", &MostInUse::bytes);
    nb::class_<Counted>(
        m, "Counted", "The most blocks in use at once, by the counters that samples carry; 0 in full depth.")
        .def_ro("most", &Counted::most, "At any sample.")
        .def_ro("low", &Counted::low, "At least.")
        .def_ro("bound", &Counted::bound, "At most.");
    nb::class_<Image>(m, "Image", "A process image. Where its definition is missing, its names are empty.")
        .def_ro("image", &Image::image)
        .def_ro("objects", &Image::objects)
        .def_ro("bytes", &Image::bytes)
        .def_ro("frees", &Image::frees)
        .def_ro("threads", &Image::threads,
                "The most that recorded at once; in triage without those of few calls.")
        .def_ro("in_use", &Image::in_use)
        .def_ro("most", &Image::most)
        .def_ro("counted", &Image::counted)
        .def_ro("pid", &Image::pid)
        .def_ro("ppid", &Image::ppid)
        .def_ro("parent", &Image::parent, "The image that it was forked from, or -1.")
        .def_ro("flags", &Image::flags, "Of IMAGE_.")
        .def_prop_ro("executable", text_of(&Image::executable))
        .def_prop_ro("provider", text_of(&Image::provider), "The file that serves malloc.")
        .def_prop_ro("command", texts_of(&Image::command));
    nb::class_<Returned>(m, "Returned", "Sampled blocks that were freed, weighted.")
        .def_ro("weight", &Returned::weight)
        .def_ro("weight_squares", &Returned::weight_squares)
        .def_ro("by_other_thread", &Returned::by_other_thread,
                "Freed by another thread than allocated them.");
    nb::class_<Summary>(m, "Totals", "All processes together.")
        .def_ro("in_use", &Summary::tree)
        .def_ro("most", &Summary::most)
        .def_ro("counted", &Summary::counted)
        .def_ro("frees", &Summary::frees)
        .def_ro("failures", &Summary::failures)
        .def_ro("skipped", &Summary::skipped)
        .def_ro("unmatched_frees", &Summary::unmatched_frees)
        .def_ro("events", &Summary::events)
        .def_ro("samples", &Summary::samples)
        .def_ro("weight", &Summary::weight)
        .def_ro("weight_squares", &Summary::weight_squares)
        .def_ro("temporary", &Summary::temporary)
        .def_ro("returned", &Summary::returned, "Sampled blocks that were freed.")
        .def_ro("immortal_objects", &Summary::immortal_objects)
        .def_ro("immortal_bytes", &Summary::immortal_bytes)
        .def_ro("calls", &Summary::calls, "By enum reap_call.");
}

void bind_request_counts(const nb::module_ &m) {
    nb::class_<PerRequest>(m, "PerRequest", "A quantity over marked requests.")
        .def_ro("total", &PerRequest::total, "Of all requests together.")
        .def_ro("p50", &PerRequest::p50)
        .def_ro("p99", &PerRequest::p99)
        .def_ro("max", &PerRequest::max);
    nb::class_<RequestCounts>(m, "RequestCounts", "What the marked requests of a phase allocated.")
        .def_prop_ro("phase", text_of(&RequestCounts::phase), "Empty for all requests together.")
        .def_ro("count", &RequestCounts::count)
        .def_ro("allocations", &RequestCounts::allocations)
        .def_ro("bytes", &RequestCounts::bytes);
}

} // namespace

void bind_recording(const nb::module_ &m) {
    bind_header(m);
    bind_totals(m);
    bind_request_counts(m);
    bind_results(m);
    nb::class_<Recording>(m, "Recording", "A trace, read and boiled down. Raises BadTrace or OSError.")
        .def(nb::init<const std::string &, const std::string &, const std::vector<std::string> &,
                      const std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> &, const Folders &>(),
             "path"_a, "recorder"_a, "allocators"_a = std::vector<std::string>(),
             "left_out"_a = std::vector<std::tuple<uint32_t, uint64_t, uint64_t>>(), "folders"_a = Folders(),
             "`allocators` are files that serve malloc beside those that the trace names; of `left_out`, "
             "(pid, begin, end) on the trace's clock, no instruction pointers are counted; `folders` are "
             "where "
             "names are looked for that the trace has not.")
        .def("header", &Recording::header)
        .def("beside", &Recording::beside, nb::sig("def beside(self) -> Recording | None"),
             "What was watched of calls that the recorder could not see, as a recording from outside; None: "
             "nothing was. Reads the trace again.")
        .def("damage", &Recording::damage)
        .def("labels", &Recording::labels)
        .def("images", &Recording::images)
        .def("unrecorded", &Recording::unrecorded)
        .def("unknown_interpreters", &Recording::unknown_interpreters)
        .def("refused_maps", &Recording::refused_maps,
             "(pid, MAP_FOREIGN or MAP_LONG) of processes whose /tmp/perf-PID.map was not taken, or not "
             "whole.")
        .def("totals", &Recording::totals, nb::rv_policy::reference_internal)
        .def("sizes", &Recording::sizes)
        .def("sizes_at_peak", &Recording::sizes_at_peak)
        .def("lifetimes", &Recording::lifetimes)
        .def("timeline", &Recording::timeline)
        .def("levels", &Recording::levels)
        .def("resident", &Recording::resident)
        .def("anonymous", &Recording::anonymous)
        .def("instruction_samples", &Recording::instruction_samples)
        .def("latencies", &Recording::latencies)
        .def("requests", &Recording::requests)
        .def("stacks", &Recording::stacks, "most"_a)
        .def("frames", &Recording::frames, "image"_a, "stack"_a)
        .def("uncertain_modules", &Recording::uncertain_modules,
             "(path, reason) of modules that stacks go through and that have no names, or names that may be "
             "false: NAMES_UNCHECKED, NAMES_OTHER_BUILD, NAMES_CHANGED or NAMES_MISSING.")
        .def("modules", &Recording::modules,
             "(path, GNU build id or nothing, OWN_... whose calls were recorded) of every module.")
        .def("incomplete", &Recording::incomplete)
        .def(
            "calls", &Recording::calls, "least"_a = 0.0,
            "Which stacks allocated, as a tree of calls. Frames of which no measure, callees included, is at "
            "least the share `least` of its total are merged into their callers.")
        .def(
            "events", &Recording::events, "tree"_a, "most"_a, "take"_a, "matched"_a = false,
            "Read the events again and call `take` with EventRows of at most `most` events, until the last. "
            "`tree` is of `calls(0)`; the nodes of events are in it. With `matched` a free in full depth has "
            "the size and the node of its block.")
        .def("slices", &Recording::slices, "tree"_a, "groups"_a, "count"_a,
             "Read the events again: what each thread allocated from each group of nodes of `tree`, in "
             "`count` "
             "equal slices of the time. `groups` has the group of each node; NO_NODE: not counted.")
        .def("slice_seconds", &Recording::slice_seconds, "slices"_a, "How long a slice is.")
        .def("histories", &Recording::histories, "stacks"_a, "sites"_a, "slices"_a, "most"_a,
             "Read the events again, about `most` of them: how `sites` sites used memory in `slices` equal "
             "slices of the time. `stacks` are (image, stack, number of the site).")
        .def(
            "producer",
            [](Recording &recording, const std::string &path, uint64_t address) {
                return text(recording.producer(path, address));
            },
            "path"_a, "address"_a,
            "What compiled the code at this address of a module, with its options where the compiler notes "
            "them; empty where no DWARF of the build that was recorded says it.");
}

} // namespace reap::native
