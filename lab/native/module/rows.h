// What a whole recording and one that grows have in common for Python.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "module/text.h"
#include "names/names.h"
#include "totals/aggregate.h"
#include "trace/definitions.h"

namespace reap::native {

// (low, high, objects, bytes) of a size or a bin of sizes.
using SizeRow = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>;

// Add a row if there are objects.
void add_size(std::vector<SizeRow> &out, uint64_t size, uint64_t objects, uint64_t bytes);
void add_bin(std::vector<SizeRow> &out, unsigned bin, uint64_t objects, uint64_t bytes);

// For every size or bin that occurred.
std::vector<SizeRow> size_rows(const BySize &sizes);

// The frames of a stack, innermost first. The address is the process's own where the path is empty.
std::vector<FrameRow> frame_rows(const Definitions &definitions, ModuleNames &names, uint32_t image,
                                 uint32_t stack);

} // namespace reap::native
