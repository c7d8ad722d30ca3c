#include "module/drag.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
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
nb::typed<nb::object, nb::int_> whole(Area area) {
    const nb::object high = nb::int_(static_cast<uint64_t>(area >> 64)).attr("__lshift__")(64);
    return nb::typed<nb::object, nb::int_>(high.attr("__or__")(static_cast<uint64_t>(area)));
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
    [[nodiscard]] nb::list curve() const {
        nb::list out;
        for (const DragBin &bin : summary_.curve()) {
            out.append(nb::make_tuple(bin.live, bin.needed, bin.most_live, bin.most_needed));
        }
        return out;
    }

    [[nodiscard]] const std::map<uint32_t, DragSite> &sites() const { return summary_.sites(); }

    [[nodiscard]] nb::list freed_early(const std::vector<std::vector<uint32_t>> &groups, size_t drawn) const {
        nb::list out;
        for (const DragFreed &freed : summary_.freed_early(groups, drawn))
            out.append(nb::make_tuple(freed.peak, freed.dragged));
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
void append_frames(nb::list &out, const std::string &path, uint64_t address) {
    if (path.empty()) {
        out.append(nb::make_tuple("", address, "", "", 0, false));
        return;
    }
    for (const SourceFrame &source : names_of(path, address)) {
        out.append(nb::make_tuple(text(path), address, text(source.function), text(source.file), source.line,
                                  source.inlined));
    }
}

class Drag {
  public:
    explicit Drag(const std::string &path, DragAccess access = DragAccess::All)
        : path_(path), file_(path, DragFile::kWindow, access) {}

    [[nodiscard]] std::unique_ptr<Drag> before_free() const {
        return std::make_unique<Drag>(path_, DragAccess::BeforeFree);
    }

    [[nodiscard]] nb::dict header() const {
        nb::dict out;
        out["pid"] = file_.header().pid;
        out["parent"] = file_.header().parent;
        out["forked"] = (file_.header().flags & REAP_DRAG_FORKED) != 0;
        out["end"] = word(file_.end());
        out["full"] = file_.full();
        out["malformed"] = file_.malformed();
        out["pooled"] = file_.pooled();
        out["released"] = file_.released();
        out["objects"] = file_.objects();
        nb::list command;
        for (const std::string &each : file_.command()) command.append(text(each));
        out["command"] = command;
        return out;
    }

    [[nodiscard]] Level level(bool chunks, size_t bins) const { return {file_, chunks, bins}; }

    [[nodiscard]] nb::list frames(uint32_t stack) const {
        nb::list out;
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

void bind_totals(nb::module_ &m) {
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
    bind_totals(m);
    m.def(
        "frames_at",
        [](const std::string &path, uint64_t address) {
            nb::list out;
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
        .def("header", &Drag::header)
        .def("level", &Drag::level, "chunks"_a, "bins"_a, nb::keep_alive<0, 1>())
        .def("frames", &Drag::frames, "stack"_a);
}

} // namespace reap::native
