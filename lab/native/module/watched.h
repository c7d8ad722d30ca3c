// The part of the module reap.native that is about watched programs.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_watched(const nanobind::module_ &m);

} // namespace reap::native
