// Objects that pools allocate, as marks tell of them (reap/mark.h); what the engine asks of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::drag {

// Calls back with (address, size, birth) for each object that is in use. Under the engine's lock.
void each_object(void (*each)(uintptr_t, size_t, uint32_t)) noexcept;

} // namespace reap::drag
