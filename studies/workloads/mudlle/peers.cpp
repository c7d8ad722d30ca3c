// In place of mudlle's calloc.c: each of its blocks is an AREA, which is one of peers.h.
#include <cstring>

#include "common/peers/peers.h"

struct alloc_block {
    AREA area;
};

// As calloc.h declares them, which is no C++.
extern "C" {
struct alloc_block *new_block() { return new alloc_block; }

void free_block(struct alloc_block *block) { delete block; }

void *allocate(struct alloc_block *block, unsigned long size) {
    if (size == 0) return nullptr;
    void *made = block->area.allocate(size);
    if (made == nullptr) std::abort();
    return made;
}

const char *heap_allocate_string(struct alloc_block *block, const char *text) {
    const std::size_t size = std::strlen(text) + 1;
    return static_cast<char *>(std::memcpy(allocate(block, size), text, size));
}
}
