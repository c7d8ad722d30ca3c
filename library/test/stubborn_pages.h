#pragma once

#include <cstddef>

#include "reap/source/system_pages.h"

/// Pages that stay where they are, and as large as they are, while a test says so.
struct StubbornPages : reap::SystemPages {
    static inline bool refuses = false;
    [[nodiscard]] static void *try_resize(void *data, std::size_t size, std::size_t new_size,
                                          std::size_t alignment) noexcept {
        return refuses ? nullptr : reap::SystemPages::try_resize(data, size, new_size, alignment);
    }
};
