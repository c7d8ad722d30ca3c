#include "foreign.h"

#include <cstring>

#include "real.h"

namespace reap::preload {

void release_foreign(void *pointer) noexcept {
    if (pointer == nullptr || is_bootstrap(pointer)) return;
    const ErrnoGuard keep;
    real.free(pointer);
}

void *resize_foreign(void *pointer, size_t size) noexcept {
    if (!is_bootstrap(pointer)) return real.realloc(pointer, size);
    // Its size is not known here; what is behind it is readable.
    const auto rest = static_cast<size_t>(static_cast<const char *>(bootstrap_range().end) -
                                          static_cast<const char *>(pointer));
    void *const fresh = real.malloc(size);
    if (fresh != nullptr) memcpy(fresh, pointer, rest < size ? rest : size);
    return fresh;
}

size_t usable_of_foreign(void *pointer) noexcept {
    return is_bootstrap(pointer) ? 0 : real.malloc_usable_size(pointer);
}

} // namespace reap::preload
