// The module reap.native: what Python sees of the code in this folder. Aggregates only; never an object an
// event.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "files/zstd_file.h"
#include "module/attach.h"
#include "module/calls.h"
#include "module/drag.h"
#include "module/elf/elf.h"
#include "module/files.h"
#include "module/growing.h"
#include "module/names.h"
#include "module/recording.h"
#include "module/text.h"
#include "module/watched.h"
#include "names/perf_maps.h"
#include "outside/outside.h"
#include "totals/heap_map.h"
#include "trace/process.h"
#include "trace/writer.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace reap::native;

namespace {

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
    nb::set_leak_warnings(false); // `reap.cli.main` leaves everything to the end of the process

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
    m.attr("PERF_PERIOD_US") = kPerfPeriodUs;
    m.attr("TIMER_PERIOD_US") = kTimerPeriodUs;
    m.attr("EXACT_EVENTS") = kExactEvents;
    m.attr("STOP_NO_SPACE") = static_cast<int>(REAP_STOP_NO_SPACE);
    m.attr("STOP_OPEN") = static_cast<int>(REAP_STOP_OPEN);
    m.attr("STOP_MAP") = static_cast<int>(REAP_STOP_MAP);
    m.attr("SOCKET_ENV") = REAP_SOCKET_ENV;
    m.attr("SOCKET_NAME") = REAP_SOCKET_NAME;
    m.attr("UNRECORDED_NOT_LOADED") = static_cast<int>(REAP_UNRECORDED_NOT_LOADED);
    m.attr("UNRECORDED_NO_TRACE") = static_cast<int>(REAP_UNRECORDED_NO_TRACE);
    m.attr("UNRECORDED_FOREIGN") = static_cast<int>(REAP_UNRECORDED_FOREIGN);
    m.attr("UNRECORDED_OUT_OF_REACH") = static_cast<int>(REAP_UNRECORDED_OUT_OF_REACH);
    m.attr("UNRECORDED_SANITIZED") = static_cast<int>(REAP_UNRECORDED_SANITIZED);
    m.attr("UNRECORDED_EXPECTED") = static_cast<int>(REAP_UNRECORDED_EXPECTED);
    m.attr("STOP_SIZE") = static_cast<int>(REAP_STOP_SIZE);
    m.attr("OWN_JEMALLOC") = static_cast<int>(REAP_OWN_JEMALLOC);
    m.attr("OWN_MIMALLOC") = static_cast<int>(REAP_OWN_MIMALLOC);
    m.attr("OWN_TCMALLOC") = static_cast<int>(REAP_OWN_TCMALLOC);
    m.attr("GATE_NONE") = static_cast<int>(REAP_GATE_NONE);
    m.attr("GATE_SHUT") = static_cast<int>(REAP_GATE_SHUT);
    m.attr("GATE_OPEN") = static_cast<int>(REAP_GATE_OPEN);
    m.attr("GATE_ENDED") = static_cast<int>(REAP_GATE_ENDED);
    m.attr("BLOCK_BYTES") = REAP_BLOCK_BYTES;
    m.attr("UNKNOWN_VERSION") = static_cast<int>(REAP_UNKNOWN_VERSION);
    m.attr("UNKNOWN_MEMORY") = static_cast<int>(REAP_UNKNOWN_MEMORY);
    m.attr("UNKNOWN_KERNEL") = static_cast<int>(REAP_UNKNOWN_KERNEL);
    m.attr("UNKNOWN_ACCESS") = static_cast<int>(REAP_UNKNOWN_ACCESS);
    m.attr("MAP_FOREIGN") = static_cast<int>(REAP_REFUSED_FOREIGN);
    m.attr("MAP_LONG") = static_cast<int>(REAP_REFUSED_LONG);
    m.attr("STOP_SANDBOX") = static_cast<int>(REAP_STOP_SANDBOX);
    m.attr("STOP_TRUNCATED") = static_cast<int>(REAP_STOP_TRUNCATED);
    m.attr("IMAGE_FORKED") = static_cast<int>(REAP_IMAGE_FORKED);
    m.attr("IMAGE_BYPASSED") = static_cast<int>(REAP_IMAGE_BYPASSED);
    m.attr("TRACE_ENV") = REAP_TRACE_ENV;

    m.def(
        "create_trace",
        [](const std::string &path, uint32_t depth, uint32_t clock, uint32_t sampler, uint32_t period_us,
           uint64_t period_bytes, bool stamp_all, bool native_only, uint32_t max_blocks,
           uint64_t exact_events, const std::vector<std::pair<std::string, std::string>> &labels) {
            create_trace(path, {depth, clock, sampler, period_us, period_bytes, stamp_all, native_only,
                                max_blocks, exact_events, labels});
        },
        "path"_a, "depth"_a, "clock"_a, "sampler"_a, "sampler_period_us"_a, "period_bytes"_a = 0,
        "stamp_all"_a = false, "native_only"_a = false, "max_blocks"_a = 0, "exact_events"_a = 0,
        "labels"_a = std::vector<std::pair<std::string, std::string>>(),
        "Make an empty trace, private to the user; period_bytes fixes the mean gap between sampled "
        "allocations, stamp_all has the time of every event recorded, and not only of some, native_only "
        "leaves "
        "Python functions out of stacks, from max_blocks on no events are written, triage writes up to about "
        "exact_events events as well, labels are (key, value). "
        "Raises ValueError where these are too long, and OSError; the file must not exist.");
    m.def(
        "set_part",
        [](const std::string &path, const std::pair<std::string, uint32_t> &start,
           const std::pair<std::string, uint32_t> &stop, double ring_seconds, uint32_t ring_blocks) {
            set_part(path, {start.first, start.second, stop.first, stop.second, ring_seconds, ring_blocks});
        },
        "path"_a, "start"_a, "stop"_a, "ring_seconds"_a = 0.0, "ring_blocks"_a = 0,
        "Have an empty trace record a part of the run. It begins and ends where a process enters a phase, or "
        "the launcher gets a signal, given as (phase, signal); both empty or 0: with the run. Of that, the "
        "last ring_seconds are kept, or ring_blocks. Raises OSError and BadTrace.");
    m.def(
        "gate_of", [](const std::string &path) { return BlockFile(path).header().part.gate; }, "path"_a,
        "Whether the part of the run that a trace is of has begun and ended, as GATE_. Raises OSError and "
        "BadTrace.");
    m.def("choose_clock", &choose_clock,
          "TSC where the kernel trusts the counter (8 ns a stamp), else MONOTONIC_NS (20 ns).");
    m.def("clock_cost", &clock_cost, "clock"_a,
          "Nanoseconds between two readings of the clock one after another: what looking adds to a latency.");
    m.def(
        "started_with", [](const std::string &variable) { return texts(started_with(variable)); },
        "variable"_a,
        "Processes that were started with this variable, NAME=VALUE, each as `name (pid N)`; those of other "
        "users for root alone. Reads one file of each process of the machine.");
    m.def("finish_trace", &finish_trace, "path"_a, "running"_a = false,
          "Seal the blocks of ended processes; returns how many blocks of running ones stay open. `running`: "
          "some process runs that has none yet.");

    m.def("keep_perf_maps", &keep_perf_maps, "path"_a, "folder"_a = "/tmp",
          "Add the names that perf-PID.map in the folder gives to code of a finished trace that was compiled "
          "at "
          "run time; returns how many addresses got one.");

    m.def("compress_file", &compress_file, "path"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Replace a file by the same, compressed by zstd; returns its new size. Raises OSError, and then "
          "leaves "
          "it as it was.");

    bind_heap_map(m);
    bind_watched(m);
    bind_names(m);
    bind_recording(m);
    bind_calls(m);
    bind_growing(m);
    bind_drag(m);
    bind_elf(m);
    bind_files(m);
    bind_attach(m);
}
