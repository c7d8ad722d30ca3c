// Python type of the header of a trace.
#pragma once

#include <nanobind/nanobind.h>

#include "reap_trace.h"

namespace reap::native {

struct Header : reap_file_header {
    double seconds;      // to its end, or to the last event
    double stop_seconds; // to where events stopped at the limit of the file's size; 0: they did not
    double lead;         // seconds of the run before the part that the trace is of
};

void bind_header(const nanobind::module_ &m);

} // namespace reap::native
