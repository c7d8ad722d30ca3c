#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_files(nanobind::module_ &m);

} // namespace reap::native
