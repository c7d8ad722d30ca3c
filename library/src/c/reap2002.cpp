#include "reap/face/c/reap2002.h"

#include <cstdint>

#include "face.h"
#include "reap/face/c/reap.h"

namespace {

/// The reap that a caller's variable refers to, or null.
reap_reap *named(void *const *reap) noexcept {
    return reap == nullptr ? nullptr : static_cast<reap_reap *>(*reap);
}

} // namespace

void reapCreate(void **reap, void **parent) {
    reap_reap *const around = named(parent);
    *reap = around == nullptr ? reap_reap_create(nullptr) : reap_reap_nest(around, nullptr);
}

void reapDestroy(void **reap) {
    if (named(reap) == nullptr) return;
    reap_reap_destroy(named(reap));
    *reap = nullptr;
}

void reapFreeAll(void **reap) {
    if (named(reap) != nullptr) reap_reap_reset(named(reap), SIZE_MAX);
}

void *reapMalloc(void **reap, size_t size) {
    if (named(reap) == nullptr) return reap::c::refuse(EINVAL);
    return reap_reap_allocate(named(reap), size);
}

void reapFree(void **reap, void *object) {
    if (named(reap) != nullptr) reap_reap_deallocate(named(reap), object);
}
