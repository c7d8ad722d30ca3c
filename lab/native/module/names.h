// Keeping names with a recording, and where to look for them.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_names(nanobind::module_ &m);

} // namespace reap::native
