// Bindings of the small files between reap and its preloads: litter, residence, requests, prices, drag.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_files(nanobind::module_ &m);

} // namespace reap::native
