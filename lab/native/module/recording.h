// What Python sees of recordings.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_recording(const nanobind::module_ &m);

} // namespace reap::native
