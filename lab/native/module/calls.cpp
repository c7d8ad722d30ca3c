// What Python sees of stacks and events: columns, never an object an event.
#include "module/calls.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "module/text.h"
#include "totals/call_tree.h"
#include "totals/event_rows.h"
#include "totals/slices.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace reap::native {
namespace {

template <class Number>
using Column = nb::ndarray<nb::numpy, const Number, nb::ndim<1>, nb::c_contig>;

// A view of a column of `Owner`, which it keeps alive.
template <class Owner, class Number>
auto column(std::vector<Number> Owner::*member) {
    return [member](const Owner &owner) {
        const std::vector<Number> &values = owner.*member;
        return Column<Number>(values.data(), {values.size()}, nb::handle());
    };
}

template <CallTree::Measure kMeasure>
Column<double> own(const CallTree &tree) {
    const std::vector<double> &values = tree.own[kMeasure];
    return Column<double>(values.data(), {values.size()}, nb::handle());
}

template <CallTree::Measure kMeasure>
Column<double> sliced(const CallSlices &slices) {
    const std::vector<double> &values = slices.values[kMeasure];
    return Column<double>(values.data(), {values.size()}, nb::handle());
}

// (module, address, function, file, line, inlined) as `Recording.frames` has them.
std::vector<FrameRow> places(const CallTree &tree) {
    std::vector<FrameRow> out;
    out.reserve(tree.places.size());
    for (const CallPlace &place : tree.places) {
        out.push_back(frame_row(place.module, place.address, place.source));
    }
    return out;
}

std::vector<bool> processes(const CallTree &tree) {
    std::vector<bool> out;
    out.reserve(tree.places.size());
    for (const CallPlace &place : tree.places) out.push_back(place.process);
    return out;
}

} // namespace

void bind_calls(const nb::module_ &m) {
    m.attr("NO_NODE") = CallTree::kNone;
    m.attr("EVENT_ALLOCATION") = static_cast<int>(EventRows::kAllocation);
    m.attr("EVENT_FREE") = static_cast<int>(EventRows::kFree);
    m.attr("EVENT_FAILURE") = static_cast<int>(EventRows::kFailure);

    const auto view = nb::rv_policy::reference_internal;
    nb::class_<CallTree>(
        m, "CallTree",
        "Which stacks allocated, as a tree of calls. A node comes after its parent; the parent "
        "of a process is NO_NODE. Totals are those of exactly this stack, without callees.")
        .def_prop_ro("places", &places, "(module, address, function, file, line, inlined) of each place.")
        .def_prop_ro("processes", &processes, "Of each place, whether it is a process and no code.")
        .def_prop_ro("parents", column(&CallTree::parents), view)
        .def_prop_ro("at", column(&CallTree::at), view, "The place of each node.")
        .def_prop_ro("allocations", &own<CallTree::kAllocations>, view)
        .def_prop_ro("bytes", &own<CallTree::kBytes>, view)
        .def_prop_ro("temporary", &own<CallTree::kTemporary>, view)
        .def_prop_ro("at_peak", &own<CallTree::kAtPeak>, view)
        .def_prop_ro("at_exit", &own<CallTree::kAtExit>, view)
        .def_ro("left_out", &CallTree::left_out);

    nb::class_<CallSlices>(
        m, "CallSlices",
        "What threads allocated from groups of nodes in slices of the time, as columns of one length.")
        .def_ro("threads", &CallSlices::threads, "(pid, number) of each thread.")
        .def_prop_ro("groups", column(&CallSlices::groups), view)
        .def_prop_ro("by", column(&CallSlices::by), view, "The place of the thread.")
        .def_prop_ro("slices", column(&CallSlices::slices), view)
        .def_prop_ro("allocations", &sliced<CallTree::kAllocations>, view)
        .def_prop_ro("bytes", &sliced<CallTree::kBytes>, view)
        .def_prop_ro("temporary", &sliced<CallTree::kTemporary>, view, "In the slice of their free.")
        .def_prop_ro("at_peak", &sliced<CallTree::kAtPeak>, view, "When the slice had most in use.")
        .def_prop_ro("at_exit", &sliced<CallTree::kAtExit>, view, "In the slice of their allocation.");

    nb::class_<EventRows>(m, "EventRows", "Events in the order of time, as columns of one length.")
        .def_prop_ro("nanoseconds", column(&EventRows::nanoseconds), view)
        .def_prop_ro("kinds", column(&EventRows::kinds), view)
        .def_prop_ro("calls", column(&EventRows::calls), view)
        .def_prop_ro("pids", column(&EventRows::pids), view)
        .def_prop_ro("threads", column(&EventRows::threads), view)
        .def_prop_ro("addresses", column(&EventRows::addresses), view)
        .def_prop_ro("sizes", column(&EventRows::sizes), view)
        .def_prop_ro("nodes", column(&EventRows::nodes), view)
        .def_prop_ro("weights", column(&EventRows::weights), view);
}

} // namespace reap::native
