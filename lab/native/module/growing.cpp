#include "module/growing.h"

#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "module/rows.h"
#include "module/text.h"
#include "names/names.h"
#include "totals/growing.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace reap::native {
namespace {

using StackNow = std::tuple<uint32_t, uint32_t, double, double, double>;

class GrowingRecording {
  public:
    explicit GrowingRecording(const std::string &path)
        : growing_(path), files_(symbols_, growing_.file().began_unix_ns()),
          names_(growing_.definitions(), symbols_, files_) {}

    bool update(uint64_t most, bool last) { return growing_.update(most, last); }
    [[nodiscard]] const Growing::Now &now() const { return growing_.now(); }
    [[nodiscard]] std::vector<SizeRow> sizes() const { return size_rows(growing_.by_size()); }
    Damage damage() { return growing_.file().damage(); }
    uint32_t depth() { return growing_.file().header().depth; }
    bool attached() { return growing_.file().header().attached != 0; }
    bool finished() { return growing_.file().header().finished != 0; }
    bool ended() { return growing_.file().header().end_ticks != 0; }
    uint32_t stop_reason() { return growing_.file().header().stop_reason; }

    // The command of the image that began first.
    std::vector<nb::str> command() {
        const std::vector<ImageInfo> &images = growing_.definitions().images();
        return images.empty() ? std::vector<nb::str>() : texts(images.front().command);
    }

    std::vector<StackNow> stacks(size_t most) {
        std::vector<StackNow> out;
        for (const Growing::Row &row : growing_.stacks(most)) {
            out.emplace_back(row.image, row.stack, row.live_bytes, row.objects, row.bytes);
        }
        return out;
    }

    std::vector<FrameRow> frames(uint32_t image, uint32_t stack) {
        return frame_rows(growing_.definitions(), names_, image, stack);
    }

  private:
    Growing growing_;
    Symbolizer symbols_;
    ModuleFiles files_;
    ModuleNames names_;
};

} // namespace

void bind_growing(const nb::module_ &m) {
    nb::class_<Growing::Now>(m, "Now", "What a recording says so far, of the whole tree.")
        .def_ro("objects", &Growing::Now::objects, "Blocks allocated.")
        .def_ro("bytes", &Growing::Now::bytes)
        .def_ro("frees", &Growing::Now::frees)
        .def_ro("live_bytes", &Growing::Now::live_bytes, "In triage estimated from samples.")
        .def_ro("peak_bytes", &Growing::Now::peak_bytes, "The most of them.")
        .def_ro("samples", &Growing::Now::samples)
        .def_ro("resident", &Growing::Now::resident, "As the launcher measured it last; 0: not yet.")
        .def_ro("peak_resident", &Growing::Now::peak_resident)
        .def_ro("measurements", &Growing::Now::measurements, "How often it was measured.")
        .def_ro("processes", &Growing::Now::processes, "Process images that began.")
        .def_ro("running", &Growing::Now::running, "Those that still run.")
        .def_ro("seconds", &Growing::Now::seconds, "Since the recording began.")
        .def_ro("last_event", &Growing::Now::last_event, "Seconds from then to the last event.");
    nb::class_<GrowingRecording>(m, "GrowingRecording",
                                 "A trace that is read while it is written. Raises BadTrace or OSError.")
        .def(nb::init<const std::string &>(), "path"_a)
        .def(
            "update", &GrowingRecording::update, "most"_a, "last"_a = false,
            nb::call_guard<nb::gil_scoped_release>(),
            "Take what is new, up to about `most` events; true if more are waiting. Events of the last 50 ms "
            "wait, unless this is the `last` update. Only one thread may use a recording at a time.")
        .def("now", &GrowingRecording::now, nb::rv_policy::copy)
        .def("sizes", &GrowingRecording::sizes, "(low, high, objects, bytes) allocated since the start.")
        .def("stacks", &GrowingRecording::stacks, "most"_a,
             "(image, stack, live bytes, objects, bytes) of the stacks with most bytes in use, and of those "
             "with most objects since the last call; the last two are since then.")
        .def("frames", &GrowingRecording::frames, "image"_a, "stack"_a)
        .def("damage", &GrowingRecording::damage)
        .def_prop_ro("depth", &GrowingRecording::depth)
        .def_prop_ro("attached", &GrowingRecording::attached,
                     "By uprobes: all is estimated, no block's life is known.")
        .def_prop_ro("command", &GrowingRecording::command)
        .def_prop_ro("ended", &GrowingRecording::ended, "It was closed.")
        .def_prop_ro("finished", &GrowingRecording::finished, "And every process had ended then.")
        .def_prop_ro("stop_reason", &GrowingRecording::stop_reason, "0, or one of STOP_.");
}

} // namespace reap::native
