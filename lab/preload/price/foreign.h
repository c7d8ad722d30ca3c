// Blocks that are not ours: of the malloc behind us, which serves what we cannot.
#pragma once

#include <cstddef>

#include "platform.h"

namespace reap::preload {

// Frees a block of the malloc behind us, or null. Keeps errno.
REAP_COLD void release_foreign(void *pointer) noexcept;

// Changes the size of such a block.
REAP_COLD void *resize_foreign(void *pointer, size_t size) noexcept;

size_t usable_of_foreign(void *pointer) noexcept;

// Moves the contents of a block of `old` usable bytes to a new one; null if there is none.
template <class Own>
void *move_block(void *pointer, size_t old, size_t size) noexcept {
    void *const fresh = Own::allocate(size);
    if (fresh == nullptr) return nullptr;
    __builtin_memcpy(fresh, pointer, old < size ? old : size);
    Own::release(pointer);
    return fresh;
}

} // namespace reap::preload
