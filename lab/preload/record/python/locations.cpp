#include "python/locations.h"

#include <sys/mman.h>

#include "platform.h"

namespace reap::preload {

uint32_t PythonLocations::find(uint64_t instruction, const CodeIdentity &code) const noexcept {
    return slots_ == nullptr ? 0 : slot(instruction, code).number;
}

uint32_t PythonLocations::add(uint64_t instruction, const CodeIdentity &code) noexcept {
    if ((slots_ == nullptr || used_ * 2 >= capacity_) && !grow()) return 0;
    const auto number = static_cast<uint32_t>(++used_);
    slot(instruction, code) = {instruction, code, number};
    return number;
}

PythonLocations::Slot &PythonLocations::slot(uint64_t instruction, const CodeIdentity &code) const noexcept {
    uint64_t hash = (instruction + code.linetable) * UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 32;
    for (size_t at = hash & (capacity_ - 1);; at = (at + 1) & (capacity_ - 1)) {
        Slot &found = slots_[at];
        if (found.number == 0 || (found.instruction == instruction && found.code == code)) return found;
    }
}

bool PythonLocations::grow() noexcept {
    constexpr size_t kFirst = 1024;
    PythonLocations bigger{};
    bigger.capacity_ = slots_ == nullptr ? kFirst : capacity_ * 2;
    bigger.used_ = used_;
    bigger.slots_ = static_cast<Slot *>(map_private(bigger.capacity_ * sizeof(Slot)));
    if (bigger.slots_ == nullptr) return false;
    if (slots_ != nullptr) {
        for (size_t at = 0; at < capacity_; ++at) {
            const Slot &old = slots_[at];
            if (old.number != 0) bigger.slot(old.instruction, old.code) = old;
        }
        munmap(slots_, capacity_ * sizeof(Slot));
    }
    *this = bigger;
    return true;
}

} // namespace reap::preload
