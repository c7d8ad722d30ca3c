// What Python sees of the results that a recording is boiled down to.
#include "module/results/results.h"

#include <string>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "outside/outside.h"
#include "sites/history.h"
#include "totals/call_tree.h"
#include "trace/block_file.h"

namespace nb = nanobind;

namespace reap::native {
namespace {

void bind_damage(const nb::module_ &m) {
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

void bind_instruction_samples(const nb::module_ &m) {
    nb::class_<SampleTotals>(m, "InstructionSamples", "Sampled instruction pointers, by where they lay.")
        .def_ro("all", &SampleTotals::all)
        .def_ro("inside", &SampleTotals::inside)
        .def_ro("kernel_inside", &SampleTotals::kernel_inside)
        .def_ro("kernel", &SampleTotals::kernel)
        .def_ro("recorder", &SampleTotals::recorder)
        .def_ro("unknown", &SampleTotals::unknown);
}

void bind_incomplete_stacks(const nb::module_ &m) {
    nb::class_<IncompleteStacks>(m, "IncompleteStacks",
                                 "How many allocations have a stack that does not reach its thread's begin.")
        .def_ro("all", &IncompleteStacks::all)
        .def_ro("ended", &IncompleteStacks::ended, "In code that belongs to no module, or there is none.")
        .def_ro("cut", &IncompleteStacks::cut, "It is as deep as stacks are walked, or deeper.");
}

void bind_histories(const nb::module_ &m) {
    nb::class_<SiteHistory>(m, "SiteHistory",
                            "How a site used memory over time. In triage objects and bytes are estimates.")
        .def_ro("floors", &SiteHistory::floors, "By slice: the fewest bytes in use at any moment of it.")
        .def_ro("freed", &SiteHistory::freed, "By slice: bytes that were freed in it.")
        .def_ro("most", &SiteHistory::most, "Bytes in use at once.")
        .def_ro("objects", &SiteHistory::objects)
        .def_ro("bytes", &SiteHistory::bytes)
        .def_ro("reallocated", &SiteHistory::reallocated, "Of the objects, those that a realloc allocated.")
        .def_ro("ends", &SiteHistory::ends, "Blocks that were freed; in triage sampled ones.")
        .def_ro("replaced", &SiteHistory::replaced,
                "Of these, blocks freed when their thread had allocated one larger block.")
        .def_ro("constant", &SiteHistory::constant,
                "Of these, those in a row of eight or more equal steps; in triage all.")
        .def_ro("copied", &SiteHistory::copied, "Bytes of `constant` whose address changed; 0 in triage.")
        .def_ro("step", &SiteHistory::step, "Bytes, the most frequent of `constant`.")
        .def_ro("lead", &SiteHistory::lead, "How often it was, less the other steps.")
        .def_ro("smallest", &SiteHistory::smallest, "Size of `constant`.")
        .def_ro("largest", &SiteHistory::largest, "Size of `constant`.");
    nb::class_<SiteHistories>(m, "SiteHistories", "How the sites of a recording used memory over time.")
        .def_ro("whole", &SiteHistories::whole, "False: the recording has more events than were read.")
        .def_ro("sites", &SiteHistories::sites)
        .def_ro("rest", &SiteHistories::rest, "Of stacks that were not listed.")
        .def_ro("floors", &SiteHistories::floors, "Of everything together, as of a site.");
}

} // namespace

void bind_results(const nb::module_ &m) {
    bind_damage(m);
    bind_instruction_samples(m);
    bind_incomplete_stacks(m);
    bind_histories(m);
}

} // namespace reap::native
