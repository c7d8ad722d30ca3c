// What Python sees of drag recordings.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_drag(nanobind::module_ &m);

} // namespace reap::native
