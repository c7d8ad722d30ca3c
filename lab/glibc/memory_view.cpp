#include "memory_view.h"

#include <cstring>

namespace reap::glibc {

// Of the pages after the requested one only resident ones are read: reading others would make them resident.
template <uint64_t pages>
bool Window<pages>::move_to(uint64_t wanted) noexcept {
    uint64_t in_a_row = 1;
    if constexpr (pages > 1) {
        unsigned char there[pages];
        uint64_t count = pages;
        while (!find_resident(wanted, count, there)) { // fewer near the end of the heap
            count /= 2;
            if (count == 0) return false;
        }
        while (in_a_row < count && (there[in_a_row] & 1) != 0) ++in_a_row;
    }
    forget();
    if (!read_memory(wanted, text_, in_a_row * page)) { // another mapping may follow, as the kernel's [vvar]
        in_a_row = 1;
        if (!read_memory(wanted, text_, page)) return false;
    }
    begin_ = wanted;
    end_ = wanted + in_a_row * page;
    return true;
}

template class Window<1>;
template class Window<16>;

uint64_t Residency::bytes(uint64_t begin, uint64_t end) noexcept {
    uint64_t sum = 0;
    for (uint64_t at = round_down(begin); at < end; at += page) {
        if ((at < begin_ || at >= end_) && !move_to(at)) return sum;
        sum += (resident_[(at - begin_) / page] & 1) * page;
    }
    return sum;
}

uint64_t Residency::next(uint64_t from, const int &ending) noexcept {
    for (uint64_t at = from; at < limit_; at = end_) {
        if (__atomic_load_n(&ending, __ATOMIC_RELAXED) != 0) return limit_;
        if ((at < begin_ || at >= end_) && !move_to(at)) return limit_;
        const void *found = memchr(resident_ + (at - begin_) / page, 1, (end_ - at) / page);
        if (found != nullptr)
            return begin_ +
                   static_cast<uint64_t>(static_cast<const unsigned char *>(found) - resident_) * page;
    }
    return limit_;
}

bool Residency::move_to(uint64_t wanted) noexcept {
    begin_ = end_ = 0;
    if (wanted >= limit_) return false;
    const uint64_t left = (round_up(limit_) - wanted) / page;
    const uint64_t count = left < pages ? left : pages;
    if (!find_resident(wanted, count, resident_)) return false;
    begin_ = wanted;
    end_ = wanted + count * page;
    return true;
}

} // namespace reap::glibc
