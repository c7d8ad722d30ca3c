#include "module/results/header.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <nanobind/stl/pair.h>

#include "files/file.h"
#include "module/text.h"

namespace nb = nanobind;

namespace reap::native {
namespace {

std::pair<nb::str, uint32_t> moment(const char (&phase)[REAP_PHASE_BYTES], uint32_t signal) {
    return {text(field_text(phase, sizeof phase)), signal};
}

} // namespace

void bind_header(const nb::module_ &m) {
    using Attach = decltype(reap_file_header::attach);
    nb::class_<Attach>(m, "AttachWindows",
                       "How calls of a running process were watched. Times in nanoseconds.")
        .def_ro("windows", &Attach::windows)
        .def_ro("window_ns", &Attach::window_ns, "Of all windows together, ...")
        .def_ro("watched_ns", &Attach::watched_ns, "... of this time.")
        .def_ro("window_cpu_ns", &Attach::window_cpu_ns, "CPU time of the process within the windows, ...")
        .def_ro("watched_cpu_ns", &Attach::watched_cpu_ns, "... and in all.")
        .def_ro("calls", &Attach::calls, "Calls that met a probe.")
        .def_ro("cost_ns", &Attach::cost_ns, "CPU time that probes cost the process, by calibration.")
        .def_ro("lost", &Attach::lost, "Samples for which the buffer had no space.")
        .def_ro("slowed", &Attach::slowed,
                "Windows in which probes took nearly all of its CPU time: their calls are too few.")
        .def_ro("broken", &Attach::broken, "Samples with an incomplete stack.")
        .def_ro("unsampled", &Attach::unsampled,
                "Windows in which its own CPU time was not sampled: it is that of all less cost_ns.");
    nb::class_<Header>(m, "Header", "What a trace says of itself.")
        .def_ro("depth", &Header::depth)
        .def_ro("start_unix_ns", &Header::start_unix_ns)
        .def_ro("sampler", &Header::sampler)
        .def_ro("sampler_period_us", &Header::sampler_period_us)
        .def_prop_ro("sampler_kernel", [](const Header &header) { return header.sampler_kernel != 0; })
        .def_prop_ro(
            "finished", [](const Header &header) { return header.finished != 0; },
            "Every process of the tree had ended when it was closed.")
        .def_prop_ro(
            "ended", [](const Header &header) { return header.end_ticks != 0; }, "It was closed.")
        .def_ro("stop_reason", &Header::stop_reason, "0, or one of STOP_.")
        .def_ro("stop_errno", &Header::stop_errno)
        .def_ro("stop_count", &Header::stop_count)
        .def_ro("stop_seconds", &Header::stop_seconds,
                "From when on events are missing, where the file reached its limit; else 0.")
        .def_ro("deepbind", &Header::deepbind, "How often RTLD_DEEPBIND was removed from a call of dlopen.")
        .def_ro("seconds", &Header::seconds, "To its end, or to the last event.")
        .def_prop_ro(
            "gate", [](const Header &header) { return header.part.gate; },
            "Of GATE_: whether a part of the run was recorded, and whether it began and ended.")
        .def_ro("lead", &Header::lead, "Seconds of the run before the part that the trace is of.")
        .def_prop_ro(
            "ring_seconds",
            [](const Header &header) {
                return static_cast<double>(header.part.ring_ticks) /
                       static_cast<double>(std::max<uint64_t>(header.ticks_per_second, 1));
            },
            "So many of the last seconds were kept; 0: all, or by bytes.")
        .def_prop_ro(
            "ring_bytes",
            [](const Header &header) { return uint64_t{header.part.ring_blocks} * REAP_BLOCK_BYTES; },
            "About so many of the last bytes were kept; 0: all, or by time.")
        .def_prop_ro(
            "start",
            [](const Header &header) { return moment(header.part.start_phase, header.part.start_signal); },
            "What the part begins with, as (phase, signal); one of them at most is not empty or 0.")
        .def_prop_ro(
            "stop",
            [](const Header &header) { return moment(header.part.stop_phase, header.part.stop_signal); },
            "And what ends it.")
        .def_prop_ro(
            "attached", [](const Header &header) { return header.attached != 0; },
            "It was made from outside of its processes; `attach` says how.")
        .def_prop_ro(
            "from_start", [](const Header &header) { return header.attached == REAP_ATTACHED_FROM_START; },
            "Attached before the program executed its first instruction.")
        .def_prop_ro("attach", [](const Header &header) { return header.attach; });
}

} // namespace reap::native
