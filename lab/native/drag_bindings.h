// What Python sees of drag recordings.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_drag(const nanobind::module_ &m);

} // namespace reap::native
