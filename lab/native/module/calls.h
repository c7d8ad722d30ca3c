// The part of the module reap.native that is about stacks and events as columns.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_calls(const nanobind::module_ &m);

} // namespace reap::native
