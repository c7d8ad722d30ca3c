// ELF files.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_elf(nanobind::module_ &m);

} // namespace reap::native
