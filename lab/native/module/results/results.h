// What Python sees of the results that a recording is boiled down to, those with no logic of their own.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_results(const nanobind::module_ &m);

} // namespace reap::native
