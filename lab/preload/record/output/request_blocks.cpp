#include "output/request_blocks.h"

#include <cstring>

namespace reap::preload {

namespace {

// The next idle block: stored in a word that is the writer's own until the block is sealed.
reap_block_header *next_of(const reap_block_header *block) noexcept {
    return reinterpret_cast<reap_block_header *>(block->last_ticks);
}

} // namespace

uint32_t RequestBlocks::find(const char *name) noexcept {
    if (name == nullptr || *name == '\0') return 0;
    constexpr size_t kMost = REAP_PHASE_BYTES - 1; // the last byte of each stays 0
    for (uint32_t phase = 1; phase <= known_; ++phase) {
        if (strncmp(names_[phase], name, kMost) == 0) return phase;
    }
    if (known_ == kMaxPhases) {
        memcpy(names_[kOtherPhases], "further phases", sizeof "further phases");
        return kOtherPhases;
    }
    ++known_;
    memcpy(names_[known_], name, strnlen(name, kMost));
    return known_;
}

void RequestBlocks::set_phase(const char *name) noexcept {
    const LockGuard guard(lock_);
    __atomic_store_n(&now_, find(name), __ATOMIC_RELAXED);
}

reap_block_header *RequestBlocks::acquire(TraceFile &trace, const Owner &owner, uint32_t phase) noexcept {
    const LockGuard guard(lock_);
    if (reap_block_header *const block = idle_[phase]) {
        idle_[phase] = next_of(block);
        return block;
    }
    if (full_) return nullptr;
    uint32_t room = sizeof(reap_requests);
    reap_block_header *const block =
        trace.add_block(REAP_BLOCK_REQUESTS, owner, sequence_, owner.began, room);
    full_ = block == nullptr;
    if (full_) return nullptr;
    ++sequence_;
    memcpy(counts(block).phase, names_[phase], REAP_PHASE_BYTES);
    TraceFile::commit(block, sizeof(reap_requests));
    return block;
}

void RequestBlocks::release(reap_block_header *block, uint32_t phase) noexcept {
    const LockGuard guard(lock_);
    block->last_ticks = reinterpret_cast<uint64_t>(idle_[phase]);
    idle_[phase] = block;
}

void RequestBlocks::after_fork_in_child() noexcept {
    lock_.reset();
    sequence_ = 0;
    for (reap_block_header *&block : idle_) block = nullptr;
}

} // namespace reap::preload
