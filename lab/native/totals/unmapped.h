// Names of code that is in no module.
#pragma once

#include <cstdint>

#include "symbols/symbols.h"
#include "trace/definitions.h"

namespace reap::native {

// The line of Python, or the function compiled at run time, that a return address of a frame stands for;
// without a function if it is neither.
SourceFrame unmapped_frame(const Definitions &definitions, uint32_t image, uint64_t address);

} // namespace reap::native
