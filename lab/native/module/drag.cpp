#include "module/drag.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "drag/file.h"
#include "drag/level.h"
#include "module/text.h"
#include "symbols/symbols.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace reap::native {
namespace {

// An area may need more than 64 bits.
nb::int_ whole(Area area) {
    const nb::object high = nb::int_(static_cast<uint64_t>(area >> 64)).attr("__lshift__")(64);
    return nb::borrow<nb::int_>(high.attr("__or__")(static_cast<uint64_t>(area)));
}

struct DragPeaks : DragTotals {
    uint64_t peak_live;
    uint64_t peak_needed;
    uint64_t peak_at;
};

const char *word(DragEnd end) {
    switch (end) {
    case DragEnd::Exited:
        return "exited";
    case DragEnd::Exec:
        return "exec";
    default:
        return "killed";
    }
}

// A process's drag at one level. It keeps its file alive.
class Level {
  public:
    Level(const DragFile &file, bool chunks, size_t bins)
        : summary_(file, chunks ? DragLevel::Chunks : DragLevel::Objects, bins) {}

    [[nodiscard]] DragPeaks totals() const {
        return {summary_.totals(), summary_.peak_live(), summary_.peak_needed(), summary_.peak_at()};
    }

    // (mean in use, mean needed, most in use, most needed) for each stretch.
    [[nodiscard]] std::vector<std::tuple<double, double, uint64_t, uint64_t>> curve() const {
        std::vector<std::tuple<double, double, uint64_t, uint64_t>> out;
        for (const DragBin &bin : summary_.curve()) {
            out.emplace_back(bin.live, bin.needed, bin.most_live, bin.most_needed);
        }
        return out;
    }

    [[nodiscard]] const std::map<uint32_t, DragSite> &sites() const { return summary_.sites(); }

    [[nodiscard]] std::vector<std::pair<uint64_t, std::vector<double>>>
    freed_early(const std::vector<std::vector<uint32_t>> &groups, size_t drawn) const {
        std::vector<std::pair<uint64_t, std::vector<double>>> out;
        for (DragFreed &freed : summary_.freed_early(groups, drawn))
            out.emplace_back(freed.peak, std::move(freed.dragged));
        return out;
    }

  private:
    DragSummary summary_;
};

// The names of places, looked up once for all processes of a run: they share their programs and libraries,
// whose debug information is costly to open.
const std::vector<SourceFrame> &names_of(const std::string &path, uint64_t address) {
    static Symbolizer symbols;
    return symbols.resolve(path, address);
}

// As those of a Recording.
void append_frames(std::vector<FrameRow> &out, const std::string &path, uint64_t address) {
    if (path.empty()) {
        out.push_back(unknown_frame(address));
        return;
    }
    for (const SourceFrame &source : names_of(path, address)) {
        out.push_back(frame_row(path, address, source));
    }
}

class Drag {
  public:
    explicit Drag(const std::string &path, DragAccess access = DragAccess::All)
        : path_(path), file_(path, DragFile::kWindow, access) {}

    [[nodiscard]] std::unique_ptr<Drag> before_free() const {
        return std::make_unique<Drag>(path_, DragAccess::BeforeFree);
    }

    [[nodiscard]] const DragFile &header() const { return file_; }

    [[nodiscard]] Level level(bool chunks, size_t bins) const { return {file_, chunks, bins}; }

    [[nodiscard]] std::vector<FrameRow> frames(uint32_t stack) const {
        std::vector<FrameRow> out;
        for (const DragFrame &frame : file_.frames(stack)) {
            const std::string &path = file_.module(frame.module);
            // Valgrind's own functions, which stand in for the malloc family.
            if (path.find("/vgpreload_") != std::string::npos) continue;
            append_frames(out, path, frame.address);
        }
        return out;
    }

  private:
    std::string path_;
    DragFile file_;
};

void bind_drag_header(const nb::module_ &m) {
    nb::class_<DragFile>(m, "DragHeader", "What a drag recording says of its process.")
        .def_prop_ro("pid", [](const DragFile &file) { return file.header().pid; })
        .def_prop_ro("parent", [](const DragFile &file) { return file.header().parent; })
        .def_prop_ro("forked",
                     [](const DragFile &file) { return (file.header().flags & REAP_DRAG_FORKED) != 0; })
        .def_prop_ro(
            "end", [](const DragFile &file) { return word(file.end()); }, "`exited`, `exec` or `killed`.")
        .def_prop_ro("full", &DragFile::full, "Recording stopped before the process did.")
        .def_prop_ro("malformed", &DragFile::malformed)
        .def_prop_ro("pooled", &DragFile::pooled)
        .def_prop_ro("released", &DragFile::released, "Some object was last accessed as part of its free.")
        .def_prop_ro("objects", &DragFile::objects)
        .def_prop_ro("command", [](const DragFile &file) { return texts(file.command()); });
}

void bind_drag_totals(const nb::module_ &m) {
    nb::class_<DragCount>(m, "DragCount", "How many objects, and their bytes.")
        .def_ro("objects", &DragCount::objects)
        .def_ro("bytes", &DragCount::bytes);
    nb::class_<DragTotals>(m, "DragTotals", "The lives of some objects, summed up.")
        .def_ro("all", &DragTotals::all)
        .def_ro("never", &DragTotals::never, "Neither read nor written.")
        .def_ro("write_only", &DragTotals::write_only)
        .def_ro("released", &DragTotals::released,
                "Last accessed in the step of their free, and needed for that.")
        .def_prop_ro(
            "live", [](const DragTotals &totals) { return whole(totals.live); }, "Bytes in use, over time.")
        .def_prop_ro(
            "needed", [](const DragTotals &totals) { return whole(totals.needed); },
            "The same if each had been freed at its last access.");
    nb::class_<DragPeaks, DragTotals>(m, "DragPeaks", "Those of a level, and its peaks.")
        .def_ro("peak_live", &DragPeaks::peak_live)
        .def_ro("peak_needed", &DragPeaks::peak_needed)
        .def_ro("peak_at", &DragPeaks::peak_at,
                "When most was in use first, in bytes allocated before the step.");
    nb::class_<DragSite, DragTotals>(m, "DragSite", "Those of a stack.")
        .def_ro("live_at_peak", &DragSite::live_at_peak)
        .def_ro("dragged_at_peak", &DragSite::dragged_at_peak, "In use when most was, and needed no more.");
}

} // namespace

void bind_drag(nb::module_ &m) {
    bind_drag_header(m);
    bind_drag_totals(m);
    m.def(
        "frames_at",
        [](const std::string &path, uint64_t address) {
            std::vector<FrameRow> out;
            append_frames(out, path, address);
            return out;
        },
        "path"_a, "address"_a,
        "The function at this address of a file (as its symbols have it) and those it was inlined into, "
        "innermost first; one frame without a name where the path is empty or nothing is known.");
    nb::class_<Level>(m, "DragLevel", "A process's drag at one level, summed up.")
        .def("totals", &Level::totals)
        .def("curve", &Level::curve)
        .def("sites", &Level::sites, nb::rv_policy::copy, "By stack.")
        .def("freed_early", &Level::freed_early, "groups"_a, "drawn"_a,
             "For each group of stacks the peak that would be left if its objects had been freed at their "
             "last access, and for the first `drawn` the bytes that it drags in each stretch of the curve.");
    nb::class_<Drag>(m, "Drag", "A drag recording of one process. Raises BadTraceError or OSError.")
        .def(nb::init<const std::string &>(), "path"_a)
        .def("before_free", &Drag::before_free,
             "The same recording, in which no object is needed for accesses in the step of its free. Reads "
             "the file again, and raises as this does.")
        .def("header", &Drag::header, nb::rv_policy::reference_internal)
        .def("level", &Drag::level, "chunks"_a, "bins"_a, nb::keep_alive<0, 1>())
        .def("frames", &Drag::frames, "stack"_a);
}

} // namespace reap::native
