// Blocks of a trace with the bytes of each kind of field beside each other, which compress to two thirds of
// what they do in the order of the records.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace reap::native {

// Of each field of short records, the first to fourth bytes of its number, and those behind; then places of
// stacks, tags, long records, whether a block is in columns, and all else.
inline constexpr size_t kColumns = 40;
using Columns = std::array<std::vector<unsigned char>, kColumns>;

// A piece of a trace that begins where a block does. Its bytes are in `columns` afterwards, each in one, and
// a byte more for each block. A block that is not of events, or whose records cannot be read, stays whole.
void split_columns(const unsigned char *piece, size_t length, Columns &columns);

// The inverse, into a piece of the same length. False where the columns are not those of such a piece.
bool join_columns(const Columns &columns, unsigned char *piece, size_t length);

} // namespace reap::native
