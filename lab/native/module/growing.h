// The part of the module reap.native that reads a recording while it is made.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_growing(const nanobind::module_ &m);

} // namespace reap::native
