// What Python sees of a program that was watched.
#include "module/watched.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <iterator>

#include "outside/watched.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace reap::native {
namespace {

nb::object text(const std::string &raw) {
    return nb::steal(PyUnicode_DecodeUTF8(raw.data(), static_cast<Py_ssize_t>(raw.size()), "replace"));
}

struct Sources {
    bool sampler_kernel;
    bool kernel_names;
    bool ended;
    Source samples;
    Source faults;
    Source calls;
};

class PyWatched {
  public:
    PyWatched(const std::string &path, const std::string &recorder, const std::vector<std::string> &files,
              const std::vector<std::string> &functions)
        : file_(path), definitions_(file_),
          watched_(read_watched(file_, definitions_, symbols_, recorder, {files, functions})) {}

    Sources sources() const {
        return {.sampler_kernel = file_.header().sampler_kernel != 0,
                .kernel_names = watched_.kernel_names,
                .ended = watched_.ended,
                .samples = watched_.sampled,
                .faults = watched_.faulted,
                .calls = watched_.called};
    }

    // (path, function, kernel function, in the kernel, system call, inside, fills, count): the call is -1
    // where its number is not known, and None where it is none.
    nb::list samples() const {
        nb::list out;
        for (const auto &[kind, count] : watched_.samples) {
            out.append(nb::make_tuple(text(kind.path), text(kind.function), text(kind.kernel_function),
                                      kind.kernel, number(kind.call), kind.inside, kind.fills, count));
        }
        return out;
    }

    // (function, path, inside) of every frame; stacks are lists of places in it.
    nb::list frames() const {
        nb::list out;
        for (const StackFrame &frame : watched_.frames) {
            out.append(nb::make_tuple(text(frame.function), text(frame.path), frame.inside));
        }
        return out;
    }

    // (frames, outermost first; count).
    nb::list stacks() const {
        nb::list out;
        for (const auto &[stack, count] : watched_.stacks) {
            nb::list frames;
            for (const uint32_t frame : stack) frames.append(frame);
            out.append(nb::make_tuple(frames, count));
        }
        return out;
    }

    nb::dict totals() const {
        nb::dict out;
        out["uncalled"] = watched_.uncalled;
        out["recorder"] = watched_.recorder;
        out["looks"] = watched_.looks;
        out["busy_looks"] = watched_.busy_looks;
        out["processes"] = watched_.most_processes;
        out["threads"] = watched_.most_threads;
        return out;
    }

    // (allocator, heap, stack or file; count).
    nb::list faults() const {
        static constexpr const char *names[] = {"allocator", "heap", "stack", "file"};
        nb::list out;
        for (const auto &[touched, count] : watched_.faults) {
            out.append(nb::make_tuple(names[static_cast<size_t>(touched)], count));
        }
        return out;
    }

    // (system call, others, allocator or recorder; count).
    nb::list calls() const {
        static constexpr const char *names[] = {"others", "allocator", "recorder"};
        nb::list out;
        for (const auto &[kind, count] : watched_.calls) {
            out.append(nb::make_tuple(kind.number, names[static_cast<size_t>(kind.caller)], count));
        }
        return out;
    }

    // (state, system call or None, what its descriptor is, by the allocator, count).
    nb::list waits() const {
        static constexpr const char *names[] = {"", "socket", "file", "other", "lock"};
        nb::list out;
        for (const auto &[kind, count] : watched_.waits) {
            const char *what = kind.what < std::size(names) ? names[kind.what] : "";
            out.append(
                nb::make_tuple(std::string(1, kind.state), number(kind.call), what, kind.allocator, count));
        }
        return out;
    }

    // (seconds, bytes) of all processes together.
    nb::list resident() const {
        nb::list out;
        for (const ResidentPoint &point : watched_.resident) {
            out.append(nb::make_tuple(seconds(point.ticks), point.bytes));
        }
        return out;
    }

    // (seconds, pid, peak, resident heap or None, lazily freed or None), a row for each look at a process.
    nb::list memory() const {
        nb::list out;
        for (const MemorySeen &seen : watched_.memory) {
            const nb::object heap = seen.known ? nb::cast(seen.heap) : nb::none();
            const nb::object lazy = seen.known ? nb::cast(seen.lazy_free) : nb::none();
            out.append(nb::make_tuple(seconds(seen.ticks), seen.pid, seen.peak, heap, lazy));
        }
        return out;
    }

    nb::list files() const {
        nb::list out;
        for (const std::string &path : watched_.files) out.append(text(path));
        return out;
    }

  private:
    // Since the start of the trace.
    [[nodiscard]] double seconds(uint64_t ticks) const {
        const reap_file_header &header = file_.header();
        return ticks > header.start_ticks ? static_cast<double>(ticks - header.start_ticks) /
                                                static_cast<double>(header.ticks_per_second)
                                          : 0.0;
    }

    static nb::object number(int64_t call) { return call == kNoCall ? nb::none() : nb::cast(call); }

    BlockFile file_;
    Definitions definitions_;
    Symbolizer symbols_;
    Watched watched_;
};

} // namespace

void bind_watched(const nb::module_ &m) {
    nb::class_<Source>(m, "Source", "One source of events: why there is none, and how many were lost.")
        .def_ro("errno", &Source::error)
        .def_ro("lost", &Source::lost);
    nb::class_<Sources>(m, "Sources", "What could be watched.")
        .def_ro("sampler_kernel", &Sources::sampler_kernel)
        .def_ro("kernel_names", &Sources::kernel_names)
        .def_ro("ended", &Sources::ended)
        .def_ro("samples", &Sources::samples)
        .def_ro("faults", &Sources::faults)
        .def_ro("calls", &Sources::calls);
    nb::class_<PyWatched>(m, "Watched",
                          "What was seen of a program from outside, boiled down. Raises BadTrace or OSError.")
        .def(nb::init<const std::string &, const std::string &, const std::vector<std::string> &,
                      const std::vector<std::string> &>(),
             "path"_a, "recorder"_a, "files"_a, "functions"_a,
             "`files` serve malloc; `functions` are the allocator's elsewhere, a last * for any end.")
        .def("sources", &PyWatched::sources)
        .def("samples", &PyWatched::samples)
        .def("frames", &PyWatched::frames)
        .def("stacks", &PyWatched::stacks)
        .def("totals", &PyWatched::totals)
        .def("faults", &PyWatched::faults)
        .def("calls", &PyWatched::calls)
        .def("waits", &PyWatched::waits)
        .def("resident", &PyWatched::resident)
        .def("memory", &PyWatched::memory)
        .def("files", &PyWatched::files);
}

} // namespace reap::native
