#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../test/model/case_lists.h"

// A fuzz target for each layer: the first byte of the input chooses one of the layer's cases, the others are
// the operations. What is done with them, and what counts as wrong, is the reference model's.

namespace reap::test {

/// Runs one input on the cases of `add` whose name begins with `layer`; ends the program if something is
/// wrong.
int fuzz(const std::uint8_t *data, std::size_t size, void (*add)(Cases &), std::string_view layer);

} // namespace reap::test
