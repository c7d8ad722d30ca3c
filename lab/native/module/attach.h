// Binding of attaching to a running process: reap.native.attach and its outcome.
#pragma once

#include <nanobind/nanobind.h>

namespace reap::native {

void bind_attach(nanobind::module_ &m);

} // namespace reap::native
