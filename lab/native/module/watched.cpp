// What Python sees of a program that was watched.
#include "module/watched.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "module/text.h"
#include "outside/watched.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace reap::native {
namespace {

struct Sources {
    bool sampler_kernel;
    bool kernel_names;
    bool ended;
    Source samples;
    Source faults;
    Source calls;
};

// None where there is no call, -1 where its number is not known.
using Call = std::optional<int64_t>;
using SampleRow = std::tuple<nb::str, nb::str, nb::str, bool, Call, bool, bool, uint64_t>;
using MemoryRow = std::tuple<double, uint32_t, uint64_t, std::optional<uint64_t>, std::optional<uint64_t>>;

class PyWatched {
  public:
    PyWatched(const std::string &path, const std::string &recorder, const std::vector<std::string> &files,
              const std::vector<std::string> &functions)
        : file_(path), definitions_(file_),
          watched_(read_watched(file_, definitions_, symbols_, recorder, {files, functions})) {}

    [[nodiscard]] Sources sources() const {
        return {.sampler_kernel = file_.header().sampler_kernel != 0,
                .kernel_names = watched_.kernel_names,
                .ended = watched_.ended,
                .samples = watched_.sampled,
                .faults = watched_.faulted,
                .calls = watched_.called};
    }

    // (path, function, kernel function, in the kernel, system call, inside, fills, count).
    [[nodiscard]] std::vector<SampleRow> samples() const {
        std::vector<SampleRow> out;
        out.reserve(watched_.samples.size());
        for (const auto &[kind, count] : watched_.samples) {
            out.emplace_back(text(kind.path), text(kind.function), text(kind.kernel_function), kind.kernel,
                             number(kind.call), kind.inside, kind.fills, count);
        }
        return out;
    }

    // (function, path, inside) of every frame; stacks are lists of places in it.
    [[nodiscard]] std::vector<std::tuple<nb::str, nb::str, bool>> frames() const {
        std::vector<std::tuple<nb::str, nb::str, bool>> out;
        out.reserve(watched_.frames.size());
        for (const StackFrame &frame : watched_.frames) {
            out.emplace_back(text(frame.function), text(frame.path), frame.inside);
        }
        return out;
    }

    // (frames, outermost first; count).
    [[nodiscard]] std::vector<std::pair<std::vector<uint32_t>, uint64_t>> stacks() const {
        return {watched_.stacks.begin(), watched_.stacks.end()};
    }

    [[nodiscard]] const Watched &totals() const { return watched_; }

    // (allocator, heap, stack or file; count).
    [[nodiscard]] std::vector<std::pair<const char *, uint64_t>> faults() const {
        static constexpr const char *names[] = {"allocator", "heap", "stack", "file"};
        std::vector<std::pair<const char *, uint64_t>> out;
        out.reserve(watched_.faults.size());
        for (const auto &[touched, count] : watched_.faults) {
            out.emplace_back(names[static_cast<size_t>(touched)], count);
        }
        return out;
    }

    // (system call, others, allocator or recorder; count).
    [[nodiscard]] std::vector<std::tuple<uint64_t, const char *, uint64_t>> calls() const {
        static constexpr const char *names[] = {"others", "allocator", "recorder"};
        std::vector<std::tuple<uint64_t, const char *, uint64_t>> out;
        out.reserve(watched_.calls.size());
        for (const auto &[kind, count] : watched_.calls) {
            out.emplace_back(kind.number, names[static_cast<size_t>(kind.caller)], count);
        }
        return out;
    }

    // (state, system call or None, what its descriptor is, by the allocator, count).
    [[nodiscard]] std::vector<std::tuple<std::string, Call, const char *, bool, uint64_t>> waits() const {
        static constexpr const char *names[] = {"", "socket", "file", "other", "lock"};
        std::vector<std::tuple<std::string, Call, const char *, bool, uint64_t>> out;
        for (const auto &[kind, count] : watched_.waits) {
            const char *what = kind.what < std::size(names) ? names[kind.what] : "";
            out.emplace_back(std::string(1, kind.state), number(kind.call), what, kind.allocator, count);
        }
        return out;
    }

    // (pid, polls, polls in which one thread ran, in which several did, in which another ran than before).
    [[nodiscard]] std::vector<std::tuple<uint32_t, uint64_t, uint64_t, uint64_t, uint64_t>>
    processes() const {
        std::vector<std::tuple<uint32_t, uint64_t, uint64_t, uint64_t, uint64_t>> out;
        for (const auto &[pid, seen] : watched_.turns.processes()) {
            out.emplace_back(pid, seen.polls, seen.alone, seen.several, seen.changes);
        }
        return out;
    }

    // (pid, polls in which it ran, in which it waited for another thread), a row for each thread.
    [[nodiscard]] std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> threads() const {
        std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> out;
        for (const auto &[key, seen] : watched_.turns.threads()) {
            out.emplace_back(key.first, seen.ran, seen.waited);
        }
        return out;
    }

    // (seconds, bytes) of all processes together.
    [[nodiscard]] std::vector<std::pair<double, uint64_t>> resident() const {
        std::vector<std::pair<double, uint64_t>> out;
        out.reserve(watched_.resident.size());
        for (const ResidentPoint &point : watched_.resident) {
            out.emplace_back(seconds(point.ticks), point.bytes);
        }
        return out;
    }

    // (seconds, pid, peak, resident heap or None, lazily freed or None), a row for each poll of a process.
    [[nodiscard]] std::vector<MemoryRow> memory() const {
        std::vector<MemoryRow> out;
        out.reserve(watched_.memory.size());
        for (const MemorySeen &seen : watched_.memory) {
            const auto known = [&](uint64_t bytes) {
                return seen.known ? std::optional(bytes) : std::nullopt;
            };
            out.emplace_back(seconds(seen.ticks), seen.pid, seen.peak, known(seen.heap),
                             known(seen.lazy_free));
        }
        return out;
    }

    [[nodiscard]] std::vector<nb::str> files() const {
        std::vector<nb::str> out;
        out.reserve(watched_.files.size());
        for (const std::string &path : watched_.files) out.push_back(text(path));
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

    static Call number(int64_t call) { return call == kNoCall ? std::nullopt : Call(call); }

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
    nb::class_<Watched>(m, "WatchedTotals",
                        "How often a program was polled and sampled, and how large it was.")
        .def_ro("uncalled", &Watched::uncalled, "Samples whose callers are not known.")
        .def_ro("recorder", &Watched::recorder, "Samples in the recorder, which are not among the others.")
        .def_ro("on_lock", &Watched::on_lock, "What threads executed while others waited for a lock.")
        .def_ro("on_other", &Watched::on_other, "While others waited for a condition or the end of a thread.")
        .def_ro("polls", &Watched::polls)
        .def_ro("busy_polls", &Watched::busy_polls, "Those in which some thread ran, or waited for a CPU.")
        .def_ro("processes", &Watched::most_processes, "The most at once.")
        .def_ro("threads", &Watched::most_threads, "The most at once.");
    nb::class_<Awaited>(m, "Awaited",
                        "Samples of processes, each weighted by how many of their threads waited then.")
        .def_ro("samples", &Awaited::samples)
        .def_ro("waiters", &Awaited::waiters, "The sum of the weights.")
        .def_ro("inside", &Awaited::inside, "Of these, the weights of samples in the allocator.");
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
        .def("totals", &PyWatched::totals, nb::rv_policy::reference_internal)
        .def("faults", &PyWatched::faults)
        .def("calls", &PyWatched::calls)
        .def("waits", &PyWatched::waits)
        .def("processes", &PyWatched::processes)
        .def("threads", &PyWatched::threads)
        .def("resident", &PyWatched::resident)
        .def("memory", &PyWatched::memory)
        .def("files", &PyWatched::files);
}

} // namespace reap::native
