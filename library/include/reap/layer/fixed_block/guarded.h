#pragma once

// Checked mode: the same operations on blocks that have guards around their object. Part of
// layer/fixed_block.h.

#include <cstddef>
#include <cstdint>

#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/misuse.h"
#include "reap/layer/fixed_block.h"

namespace reap::inline REAP_MODE {

/// Calls visit(first block) for each slab of a chunk, in use or not yet.
template <Source Upstream>
template <class Visit>
void FixedBlock<Upstream>::each_slab(Slab *chunk, Visit visit) noexcept {
    std::byte *at = reinterpret_cast<std::byte *>(chunk);
    // A chunk implies a slab size. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
    for (std::size_t left = chunk->size / slab_size_; left > 0; --left, at += slab_size_) visit(at + lead_);
}

/// Whether a block could begin at this address.
template <Source Upstream>
bool FixedBlock<Upstream>::is_block(const void *address) const noexcept {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) & (slab_size_ - 1);
    // What owns an address has a stride. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
    return owns(address) && offset >= lead_ && (offset - lead_) % stride_ == 0;
}

template <Source Upstream>
template <Failure F>
void *FixedBlock<Upstream>::guarded(std::size_t size) {
    void *const raw = take([this] { return refill<F>(); });
    if (raw == nullptr) return nullptr;
    guard::open(raw, stride_, name);
    return ledger_.admit(raw, size + (size == 0), alignment_);
}

template <Source Upstream>
void FixedBlock<Upstream>::guarded_deallocate(void *object, std::size_t size) noexcept {
    if (object == nullptr) return;
    const auto raw_address = reinterpret_cast<std::uintptr_t>(object) - guard::lead(alignment_);
    const bool known = is_block(reinterpret_cast<const void *>(raw_address));
    if (!ledger_.check(object, guard::any_size, known, name)) return;
    // Memory may be freed with any size between the requested one and the block's; for a whole block the
    // requested size is not known here.
    const std::size_t asked = guard::size_of(object);
    const bool too_small = asked != block_size_ && size + (size == 0) < asked;
    if (size != guard::any_size && (too_small || size > block_size_)) {
        report_misuse({Misuse::wrong_size, object, asked, name});
        return;
    }
    ledger_.discharge(object, guard::any_size, true, name);
    void *const raw = guard::raw_of(object);
    guard::close(raw, stride_, guard::Fill::freed);
    put(raw);
}

/// Checks everything that is free, and unpoisons it.
template <Source Upstream>
void FixedBlock<Upstream>::open_free_blocks() noexcept {
    for (void **at = magazine_; at != top_; ++at) guard::open(*at, stride_, name);
    guard::open(run_, static_cast<std::size_t>(run_end_ - run_), name);
    for (Slab *slab = available_; slab != nullptr; slab = links_.next(slab)) {
        for (std::size_t number = 0; number < capacity_; ++number) {
            if ((slab->bitmap()[number / 64] >> number % 64 & 1U) != 0)
                guard::open(blocks_of(slab) + number * stride_, stride_, name);
        }
    }
}

} // namespace reap::inline REAP_MODE
