#include "address_owners.h"

#include <sys/mman.h>

#include "platform.h"

namespace reap::preload {

void AddressOwners::start() noexcept {
    const ErrnoGuard keep;
    auto *const marks = static_cast<Tag *>(map_private(kBytes));
    if (marks == nullptr) return;
    // Threads of a fork's child have other numbers.
    Tag *none = nullptr;
    if (madvise(marks, kBytes, MADV_WIPEONFORK) == 0 &&
        __atomic_compare_exchange_n(&marks_, &none, marks, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return;
    munmap(marks, kBytes);
}

} // namespace reap::preload
