// What Python sees of attaching to a running process.
#include "module/attach.h"

#include <functional>
#include <optional>
#include <string>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "attach/attach.h"
#include "attach/failure.h"
#include "module/text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace reap::native {
namespace {

// What came of it, or why it did not.
struct Outcome : Attached {
    std::string failed_step;
    int number = 0;
    std::string detail;
};

using Action = nb::typed<nb::callable, void()>;
using Question = nb::typed<nb::callable, bool()>;

Outcome attach_to(const std::string &path, int process, double seconds, const Action &create,
                  double most_overhead, bool python, const std::optional<Action> &execute,
                  const std::optional<Question> &stopped, const std::string &beside) {
    const auto creating = [&create] {
        const nb::gil_scoped_acquire held;
        create();
    };
    std::function<void()> executing;
    if (execute) {
        executing = [&execute] {
            const nb::gil_scoped_acquire held;
            (*execute)();
        };
    }
    const auto interrupted = [&stopped] {
        const nb::gil_scoped_acquire held;
        if (stopped && nb::cast<bool>((*stopped)())) return true;
        if (PyErr_CheckSignals() == 0) return false;
        PyErr_Clear(); // Ctrl-C ends the watching alone
        return true;
    };
    const nb::gil_scoped_release released;
    Outcome out;
    try {
        static_cast<Attached &>(out) =
            attach(path, {process, seconds, most_overhead, python, beside, creating, executing}, interrupted);
    } catch (const AttachFailure &failure) {
        out.failed_step = failure.step();
        out.number = failure.number();
        out.detail = failure.what();
    }
    if (out.refused) {
        out.failed_step = out.refused->step();
        out.number = out.refused->number();
        out.detail = out.refused->what();
    }
    return out;
}

} // namespace

void bind_attach(nb::module_ &m) {
    nb::class_<Outcome>(m, "AttachOutcome", "What came of attaching to a process.")
        .def_ro("ended", &Outcome::ended, "The process ended meanwhile.")
        .def_ro("interrupted", &Outcome::interrupted, "By Ctrl-C, or by `stopped`.")
        .def_ro("executed", &Outcome::executed, "It executed its program; else it ended before.")
        .def_ro("processes", &Outcome::processes, "That were watched.")
        .def_ro("left_out", &Outcome::left_out, "Descendants of the process that were not.")
        .def_ro("call_ns", &Outcome::call_ns,
                "CPU time of a call that met a probe, by calibration; 0 where none did.")
        .def_prop_ro(
            "overhead",
            [](const Outcome &outcome) {
                const auto own = static_cast<double>(outcome.seen.watched_cpu_ns) -
                                 static_cast<double>(outcome.seen.cost_ns);
                return own > 0 ? static_cast<double>(outcome.seen.cost_ns) / own : 0.0;
            },
            "CPU time that probes cost the process, to its own.")
        .def_prop_ro(
            "share",
            [](const Outcome &outcome) {
                const auto watched = static_cast<double>(outcome.seen.watched_ns);
                return watched > 0 ? static_cast<double>(outcome.seen.window_ns) / watched : 0.0;
            },
            "Of the time of the processes, how long calls were watched.")
        .def_prop_ro(
            "held",
            [](const Outcome &outcome) {
                std::vector<std::pair<nb::str, std::string>> out;
                for (const HeldFile &held : outcome.held)
                    out.emplace_back(text(held.path), "/proc/self/fd/" + std::to_string(held.file->get()));
                return out;
            },
            "(path of a module, where its file can be opened as long as this lives), also of files that are "
            "gone.")
        .def_prop_ro(
            "linked",
            [](const Outcome &outcome) {
                std::vector<std::pair<nb::str, std::string>> out;
                for (const LinkedFile &each : outcome.linked)
                    out.emplace_back(text(each.path), each.allocator);
                return out;
            },
            "(path of a file, allocator in it) beside a recorder: what was to be watched; the allocator is "
            "empty for a malloc that has no known one's names.")
        .def_ro("failed_step", &Outcome::failed_step,
                "What was refused: process, symbols, uprobes, perf or bpf; else empty.")
        .def_ro("errno", &Outcome::number)
        .def_prop_ro("detail", text_of(&Outcome::detail), "Of the failed step: the file.");
    m.def("attach", &attach_to, "path"_a, "process"_a, "seconds"_a, "create"_a, "most_overhead"_a = 0.05,
          "python"_a = true, "execute"_a = nb::none(), "stopped"_a = nb::none(), "beside"_a = "",
          "Watch the allocations of a running process and its descendants, in windows that cost each at most "
          "so much of its CPU time. `python` has stacks show the functions of Python programs. `create` "
          "makes the trace at the path, once nothing is refused. A process "
          "that waits to execute a program is released by `execute`, watched from its first instruction, and "
          "killed where that is refused. Ctrl-C ends the watching, and in any thread that `stopped` says so; "
          "it "
          "is asked 50 times a second. `beside` is the file name of a recorder that is in the processes, and "
          "writes to the same trace: then calls of linked allocators alone are watched, which it cannot see, "
          "as soon as a process has mapped one, also one in a library that is opened later, and a process "
          "whose watching is refused goes on. Raises OSError "
          "where the trace cannot be written, and what "
          "`create` and `execute` raise.");
}

} // namespace reap::native
