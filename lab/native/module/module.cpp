// The module reap.native: what Python sees of the code in this folder. Aggregates only; never an object an
// event.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "module/calls.h"
#include "module/drag.h"
#include "module/files.h"
#include "module/text.h"
#include "module/watched.h"
#include "outside/outside.h"
#include "reap_encode.h"
#include "symbols/symbols.h"
#include "totals/aggregate.h"
#include "totals/call_tree.h"
#include "totals/event_rows.h"
#include "totals/heap_map.h"
#include "trace/writer.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace reap::native;

namespace {

nb::dict in_use(const InUse &use, const Counted &counted) {
    nb::dict out;
    out["max_objects"] = use.max_objects;
    out["max_objects_variance"] = use.max_objects_variance;
    out["counted_objects"] = counted.most;
    out["counted_low"] = counted.low;
    out["counted_bound"] = counted.bound;
    out["max_bytes"] = use.max_bytes;
    out["max_bytes_variance"] = use.max_bytes_variance;
    return out;
}

// A trace that has been read. Everything is computed on construction; the attributes are plain data.
class Recording {
  public:
    Recording(const std::string &path, const std::string &recorder,
              const std::vector<std::string> &allocators,
              const std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> &left_out)
        : file_(path), definitions_(file_), summary_(reap::native::aggregate(file_, definitions_)),
          outside_(read_outside(file_, definitions_, symbols_, context(recorder, allocators, left_out))) {}

    nb::dict header() const {
        const reap_file_header &header = file_.header();
        nb::dict out;
        out["depth"] = header.depth;
        out["start_unix_ns"] = header.start_unix_ns;
        out["sampler"] = header.sampler;
        out["sampler_period_us"] = header.sampler_period_us;
        out["sampler_kernel"] = header.sampler_kernel != 0;
        out["finished"] = header.finished != 0;
        out["stop_reason"] = header.stop_reason;
        out["stop_errno"] = header.stop_errno;
        out["stop_count"] = header.stop_count;
        out["deepbind"] = header.deepbind;
        out["ended"] = header.end_ticks != 0;
        out["seconds"] =
            header.end_ticks > header.start_ticks ? seconds(header.end_ticks) : seconds(summary_.last_ticks);
        return out;
    }

    Damage damage() { return file_.damage(); }

    nb::list images() const {
        nb::list out;
        for (const ImageTotals &totals : summary_.images) {
            nb::dict image = in_use(totals.use, totals.counted);
            image["image"] = totals.image;
            image["objects"] = totals.objects;
            image["bytes"] = totals.bytes;
            image["frees"] = totals.frees;
            image["threads"] = totals.threads;
            const int64_t place = definitions_.find(totals.image);
            if (place >= 0) {
                const ImageInfo &info = definitions_.images()[static_cast<size_t>(place)];
                image["pid"] = info.pid;
                image["ppid"] = info.ppid;
                image["parent"] = info.parent;
                image["flags"] = info.flags;
                image["executable"] = text(info.executable);
                image["provider"] = text(info.provider);
                nb::list command;
                for (const std::string &word : info.command) command.append(text(word));
                image["command"] = command;
            }
            out.append(image);
        }
        return out;
    }

    // (pid, reason, executable) of processes of which nothing is recorded.
    nb::list unrecorded() const {
        nb::list out;
        for (const std::vector<UnrecordedProcess> *seen :
             {&definitions_.unrecorded(), &outside_.unrecorded}) {
            for (const UnrecordedProcess &each : *seen) {
                out.append(nb::make_tuple(each.pid, each.reason, text(each.executable)));
            }
        }
        return out;
    }

    nb::dict totals() const {
        nb::dict out = in_use(summary_.tree, summary_.counted);
        out["frees"] = summary_.frees;
        out["failures"] = summary_.failures;
        out["skipped"] = summary_.skipped;
        out["unmatched_frees"] = summary_.unmatched_frees;
        out["events"] = summary_.events;
        out["samples"] = summary_.samples;
        out["weight"] = summary_.weight;
        out["weight_squares"] = summary_.weight_squares;
        out["temporary"] = summary_.temporary;
        out["immortal_objects"] = summary_.immortal_objects;
        out["immortal_bytes"] = summary_.immortal_bytes;
        nb::list calls;
        for (const uint64_t count : summary_.calls) calls.append(count);
        out["calls"] = calls;
        return out;
    }

    // (low, high, objects, bytes) for every size or bin that occurred.
    nb::list sizes() const {
        nb::list out;
        for (uint64_t size = 0; size < REAP_EXACT_SIZES; ++size) {
            add_size(out, size, summary_.by_size[size], summary_.by_size[size] * size);
        }
        for (unsigned bin = 0; bin < REAP_LARGE_BINS; ++bin) {
            add_bin(out, bin, summary_.large_objects[bin], summary_.large_bytes[bin]);
        }
        return out;
    }

    // The same of what was in use when the tree had most blocks in use; empty in triage.
    nb::list sizes_at_peak() const {
        nb::list out;
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
    nb::list lifetimes() const {
        nb::list out;
        for (size_t bin = 0; bin < kLifetimeBins; ++bin) {
            if (summary_.lifetime_objects[bin] == 0) continue;
            const double low = bin == 0 ? 0.0 : static_cast<double>(UINT64_C(1) << bin) * 1e-9;
            const double high = static_cast<double>(UINT64_C(2) << bin) * 1e-9;
            out.append(
                nb::make_tuple(low, high, summary_.lifetime_objects[bin], summary_.lifetime_bytes[bin]));
        }
        return out;
    }

    // (seconds, highest live bytes, allocations) by bin; the width of a bin in seconds comes first.
    nb::tuple timeline() const {
        nb::list out;
        const Timeline &live = summary_.live;
        double level = 0;
        size_t place = 0;
        for (const Timeline::Bin &bin : live.bins()) {
            const double at = seconds(live.start() + place++ * live.width());
            out.append(nb::make_tuple(at, bin.seen ? bin.high : level, bin.sum));
            if (bin.seen) level = bin.last;
        }
        return nb::make_tuple(static_cast<double>(live.width()) / summary_.ticks_per_second, out);
    }

    // (seconds, live bytes) at the end of each bin that saw an event.
    nb::list levels() const {
        nb::list out;
        const Timeline &live = summary_.live;
        size_t place = 0;
        for (const Timeline::Bin &bin : live.bins()) {
            ++place;
            if (bin.seen) out.append(nb::make_tuple(seconds(live.start() + place * live.width()), bin.last));
        }
        return out;
    }

    nb::list resident() const {
        nb::list out;
        for (const ResidentPoint &point : outside_.resident) {
            out.append(nb::make_tuple(seconds(point.ticks), point.bytes));
        }
        return out;
    }

    SampleTotals instruction_samples() const { return outside_.samples; }

    // (call, samples, p50, p90, p99, p99.9) in nanoseconds.
    nb::list latencies() const {
        nb::list out;
        for (const auto &[call, histogram] : summary_.latencies) {
            out.append(nb::make_tuple(call, histogram.samples(), histogram.quantile(0.5),
                                      histogram.quantile(0.9), histogram.quantile(0.99),
                                      histogram.quantile(0.999)));
        }
        return out;
    }

    // What marked requests allocated: of all, then by phase.
    nb::list requests() const {
        nb::list out;
        if (summary_.requests.empty()) return out;
        RequestTotals all;
        for (const RequestTotals &each : summary_.requests) all.add(each);
        out.append(requests_of(all));
        for (const RequestTotals &each : summary_.requests) out.append(requests_of(each));
        return out;
    }

    // (image, stack, objects, bytes, temporary, live at peak) for the `most` stacks with the most objects and
    // as many of the others with the most bytes; by bytes.
    nb::list stacks(size_t most) const {
        struct Row {
            uint32_t image;
            uint32_t stack;
            const SiteTotals *totals;
        };
        const auto by_bytes = [](const Row &a, const Row &b) { return a.totals->bytes > b.totals->bytes; };
        std::vector<Row> rows;
        for (const ImageTotals &image : summary_.images) {
            for (uint32_t stack = 0; stack < image.sites.size(); ++stack) {
                if (image.sites[stack].objects > 0) rows.push_back({image.image, stack, &image.sites[stack]});
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
        nb::list out;
        for (const Row &row : rows) {
            out.append(nb::make_tuple(row.image, row.stack, row.totals->objects, row.totals->bytes,
                                      row.totals->temporary, row.totals->at_peak));
        }
        return out;
    }

    // The frames of a stack, innermost first: (module path, address in the file, function, source file, line,
    // inlined). The path is empty where no module is known; the address is then the process's own.
    nb::list frames(uint32_t image, uint32_t stack) {
        nb::list out;
        for (size_t depth = 0; depth < 512 && stack != 0; ++depth) {
            const Frame *frame = definitions_.frame(image, stack);
            if (frame == nullptr) break;
            const uint64_t call = frame->address - 1; // inside the call instruction, not behind it
            if (const Module *module = definitions_.module_of(image, stack)) {
                const uint64_t address = call - module->bias;
                for (const SourceFrame &source : symbols_.resolve(module->path, address)) {
                    out.append(nb::make_tuple(text(module->path), address, text(source.function),
                                              text(source.file), source.line, source.inlined));
                }
            } else {
                out.append(nb::make_tuple("", call, "", "", 0, false));
            }
            stack = frame->parent;
        }
        return out;
    }

    CallTree calls(double least) { return call_tree(summary_, definitions_, symbols_, least); }

    void events(const CallTree &tree, size_t most, const nb::callable &take) {
        read_event_rows(file_, definitions_, summary_, tree, most,
                        [&take](EventRows &&rows) { take(std::move(rows)); });
    }

  private:
    static Context context(const std::string &recorder, const std::vector<std::string> &allocators,
                           const std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> &left_out) {
        Context out{recorder, allocators, {}};
        for (const auto &[pid, begin, end] : left_out) out.left_out.push_back({pid, begin, end});
        return out;
    }

    static nb::dict requests_of(const RequestTotals &totals) {
        nb::dict out;
        out["phase"] = text(totals.phase);
        out["count"] = totals.count;
        out["allocations"] = per_request(totals.allocations, totals.by_allocations, totals.most_allocations);
        out["bytes"] = per_request(totals.bytes, totals.by_bytes, totals.most_bytes);
        return out;
    }

    // (all, p50, p99, most)
    static nb::tuple per_request(uint64_t all, const std::vector<uint64_t> &bins, uint64_t most) {
        return nb::make_tuple(all, request_quantile(bins, most, 0.5), request_quantile(bins, most, 0.99),
                              most);
    }

    static void add_size(nb::list &out, uint64_t size, uint64_t objects, uint64_t bytes) {
        if (objects > 0) out.append(nb::make_tuple(size, size, objects, bytes));
    }

    static void add_bin(nb::list &out, unsigned bin, uint64_t objects, uint64_t bytes) {
        if (objects == 0) return;
        const uint64_t low = reap::format::large_bin_low(bin);
        const uint64_t high =
            bin + 1 < REAP_LARGE_BINS ? reap::format::large_bin_low(bin + 1) - 1 : UINT64_MAX;
        out.append(nb::make_tuple(low, high, objects, bytes));
    }

    [[nodiscard]] double seconds(uint64_t ticks) const {
        return ticks > summary_.start_ticks
                   ? static_cast<double>(ticks - summary_.start_ticks) / summary_.ticks_per_second
                   : 0.0;
    }

    BlockFile file_;
    Definitions definitions_;
    Symbolizer symbols_;
    Summary summary_;
    Outside outside_;
};

void bind_damage(nb::module_ &m) {
    nb::class_<Damage>(m, "Damage",
                       "What was wrong with a trace, in numbers of blocks. False if nothing was.")
        .def_ro("empty", &Damage::empty)
        .def_ro("foreign", &Damage::foreign)
        .def_ro("corrupt", &Damage::corrupt)
        .def_ro("truncated", &Damage::truncated)
        .def_ro("malformed", &Damage::malformed)
        .def("__bool__",
             [](const Damage &damage) {
                 return (damage.empty | damage.foreign | damage.corrupt | damage.truncated |
                         damage.malformed) != 0;
             })
        .def("__repr__", [](const Damage &damage) {
            return "Damage(empty=" + std::to_string(damage.empty) +
                   ", foreign=" + std::to_string(damage.foreign) +
                   ", corrupt=" + std::to_string(damage.corrupt) +
                   ", truncated=" + std::to_string(damage.truncated) +
                   ", malformed=" + std::to_string(damage.malformed) + ")";
        });
}

void bind_instruction_samples(nb::module_ &m) {
    nb::class_<SampleTotals>(m, "InstructionSamples", "Sampled instruction pointers, by where they lay.")
        .def_ro("all", &SampleTotals::all)
        .def_ro("inside", &SampleTotals::inside)
        .def_ro("kernel_inside", &SampleTotals::kernel_inside)
        .def_ro("kernel", &SampleTotals::kernel)
        .def_ro("recorder", &SampleTotals::recorder)
        .def_ro("unknown", &SampleTotals::unknown);
}

void bind_heap_map(nb::module_ &m) {
    nb::class_<HeapCell>(m, "HeapCell", "A stretch of pages that were ever used.")
        .def_ro("litter", &HeapCell::litter)
        .def_ro("program", &HeapCell::program)
        .def_ro("pages", &HeapCell::pages);
    nb::class_<HeapMap>(m, "HeapMap", "Where blocks lie in a process when its program has most in use.")
        .def_ro("cells", &HeapMap::cells)
        .def_ro("pages", &HeapMap::pages)
        .def_ro("program_pages", &HeapMap::program_pages)
        .def_ro("litter_pages", &HeapMap::litter_pages)
        .def_ro("litter_bytes", &HeapMap::litter_bytes)
        .def_ro("program_bytes", &HeapMap::program_bytes)
        .def_ro("program_objects", &HeapMap::program_objects)
        .def_ro("allocations", &HeapMap::allocations)
        .def_ro("runs", &HeapMap::runs)
        .def_ro("longest_run", &HeapMap::longest_run);
    m.def(
        "heap_map",
        [](const std::string &path, uint32_t pid, const std::vector<std::tuple<uint64_t, uint64_t>> &littered,
           size_t cells) {
            BlockFile file(path);
            const Definitions definitions(file);
            std::vector<Window> windows;
            windows.reserve(littered.size());
            for (const auto &[begin, end] : littered) windows.push_back({pid, begin, end});
            return reap::native::heap_map(file, definitions, pid, windows, std::max<size_t>(cells, 1));
        },
        "path"_a, "pid"_a, "littered"_a, "cells"_a,
        "Where blocks lie in a process when its program has most in use; `littered` are (begin, end) on the "
        "trace's clock. Raises BadTrace or OSError.");
}

} // namespace

NB_MODULE(native, m) {
    m.doc() = "Traces: made, closed and read by compiled code.";

    const nb::exception<BadTrace> bad_trace(m, "BadTraceError", PyExc_ValueError);
    nb::register_exception_translator([](const std::exception_ptr &pointer, void *) {
        try {
            std::rethrow_exception(pointer);
        } catch (const std::system_error &error) {
            errno = error.code().value();
            PyErr_SetFromErrno(PyExc_OSError);
        }
    });

    m.attr("TRIAGE") = static_cast<int>(REAP_DEPTH_TRIAGE);
    m.attr("FULL") = static_cast<int>(REAP_DEPTH_FULL);
    m.attr("TSC") = static_cast<int>(REAP_CLOCK_TSC);
    m.attr("MONOTONIC_NS") = static_cast<int>(REAP_CLOCK_MONOTONIC_NS);
    m.attr("SAMPLER_NONE") = static_cast<int>(REAP_SAMPLER_NONE);
    m.attr("SAMPLER_PERF") = static_cast<int>(REAP_SAMPLER_PERF);
    m.attr("SAMPLER_TIMER") = static_cast<int>(REAP_SAMPLER_TIMER);
    m.attr("STOP_NO_SPACE") = static_cast<int>(REAP_STOP_NO_SPACE);
    m.attr("STOP_OPEN") = static_cast<int>(REAP_STOP_OPEN);
    m.attr("STOP_MAP") = static_cast<int>(REAP_STOP_MAP);
    m.attr("SOCKET_ENV") = REAP_SOCKET_ENV;
    m.attr("SOCKET_NAME") = REAP_SOCKET_NAME;
    m.attr("UNRECORDED_NOT_LOADED") = static_cast<int>(REAP_UNRECORDED_NOT_LOADED);
    m.attr("UNRECORDED_NO_TRACE") = static_cast<int>(REAP_UNRECORDED_NO_TRACE);
    m.attr("UNRECORDED_FOREIGN") = static_cast<int>(REAP_UNRECORDED_FOREIGN);
    m.attr("UNRECORDED_OUT_OF_REACH") = static_cast<int>(REAP_UNRECORDED_OUT_OF_REACH);
    m.attr("STOP_SANDBOX") = static_cast<int>(REAP_STOP_SANDBOX);
    m.attr("IMAGE_FORKED") = static_cast<int>(REAP_IMAGE_FORKED);
    m.attr("IMAGE_BYPASSED") = static_cast<int>(REAP_IMAGE_BYPASSED);
    m.attr("TRACE_ENV") = REAP_TRACE_ENV;

    m.def(
        "create_trace",
        [](const std::string &path, uint32_t depth, uint32_t clock, uint32_t sampler, uint32_t period_us,
           uint64_t period_bytes) { create_trace(path, {depth, clock, sampler, period_us, period_bytes}); },
        "path"_a, "depth"_a, "clock"_a, "sampler"_a, "sampler_period_us"_a, "period_bytes"_a = 0,
        "Make an empty trace, private to the user; period_bytes fixes the mean gap between sampled "
        "allocations. "
        "Raises OSError; the file must not exist.");
    m.def("clock_cost", &clock_cost, "clock"_a,
          "Nanoseconds between two readings of the clock one after another: what looking adds to a latency.");
    m.def("finish_trace", &finish_trace, "path"_a,
          "Seal the blocks of ended processes; returns how many blocks of running ones stay open.");

    bind_heap_map(m);
    bind_watched(m);

    bind_damage(m);
    bind_instruction_samples(m);
    nb::class_<Recording>(m, "Recording", "A trace, read and boiled down. Raises BadTrace or OSError.")
        .def(nb::init<const std::string &, const std::string &, const std::vector<std::string> &,
                      const std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> &>(),
             "path"_a, "recorder"_a, "allocators"_a = std::vector<std::string>(),
             "left_out"_a = std::vector<std::tuple<uint32_t, uint64_t, uint64_t>>(),
             "`allocators` are files that serve malloc beside those that the trace names; of `left_out`, "
             "(pid, begin, end) on the trace's clock, no instruction pointers are counted.")
        .def("header", &Recording::header)
        .def("damage", &Recording::damage)
        .def("images", &Recording::images)
        .def("unrecorded", &Recording::unrecorded)
        .def("totals", &Recording::totals)
        .def("sizes", &Recording::sizes)
        .def("sizes_at_peak", &Recording::sizes_at_peak)
        .def("lifetimes", &Recording::lifetimes)
        .def("timeline", &Recording::timeline)
        .def("levels", &Recording::levels)
        .def("resident", &Recording::resident)
        .def("instruction_samples", &Recording::instruction_samples)
        .def("latencies", &Recording::latencies)
        .def("requests", &Recording::requests)
        .def("stacks", &Recording::stacks, "most"_a)
        .def("frames", &Recording::frames, "image"_a, "stack"_a)
        .def(
            "calls", &Recording::calls, "least"_a = 0.0,
            "Which stacks allocated, as a tree of calls. Frames of which no measure, callees included, is at "
            "least the share `least` of its total are merged into their callers.")
        .def("events", &Recording::events, "tree"_a, "most"_a, "take"_a,
             "Read the events again and call `take` with EventRows of at most `most` events, until the last. "
             "`tree` is of `calls(0)`; the nodes of events are in it.");

    bind_calls(m);
    bind_drag(m);
    bind_files(m);
}
