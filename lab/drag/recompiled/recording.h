// The recording of one process; reap_drag.h has its format.
#pragma once

#include <cstddef>
#include <cstdint>

#include "objects/shadow.h"
#include "platform.h"
#include "reap_drag.h"
#include "reap_encode.h"
#include "seen_stacks.h"
#include "stack.h"
#include "stack_table.h"

namespace reap::drag {

// Events go straight into a window of the file that is mapped shared, so that a killed process loses nothing.
// Not thread-safe. Costs some 10 ns an event.
class Recording {
  public:
    // A file of this process in `folder`. False where it cannot be made.
    bool open(const char *folder, uint32_t base, uint32_t flags) noexcept;
    [[nodiscard]] bool is_of_this_process() const noexcept;
    [[nodiscard]] bool is_open() const noexcept { return window_ != nullptr; }

    // `kind` is REAP_DRAG_ALLOC or REAP_DRAG_POOLED.
    void allocated(uint32_t kind, const Stack &stack, size_t size) noexcept {
        if (window_ == nullptr) return;
        uint32_t id = seen_.find(stack.hash);
        if (preload::unlikely(id == 0)) id = number_of(stack);
        if (!reserve(kSmall)) return;
        uint8_t *at = window_ + used_;
        *at++ = static_cast<uint8_t>(kind);
        at = format::put_varint(format::put_varint(at, id), size);
        used_ = static_cast<size_t>(at - window_);
        ++written_;
    }
    // `kind` is REAP_DRAG_FREE or REAP_DRAG_LIVE; what this file does not know is left out: what was there
    // before a fork, or came after the recording stopped.
    void ended(uint32_t kind, uint32_t now, uint32_t birth, const Use &use, uint32_t flags) noexcept {
        if (birth <= base_ || birth - base_ > written_ || !reserve(kSmall)) return;
        uint8_t *at = window_ + used_;
        *at++ = static_cast<uint8_t>(kind | (use.flags | flags) << REAP_DRAG_KIND_BITS);
        at = format::put_varint(format::put_varint(at, now - birth), now - use.last);
        if (kind == REAP_DRAG_FREE && use.last == now && birth != now)
            at = format::put_varint(at, now - use.earlier);
        used_ = static_cast<size_t>(at - window_);
    }
    void full() noexcept;
    void finish(reap_drag_end how) noexcept;
    void resume() noexcept; // an exec failed: what `finish` wrote does not hold
    // In the child of a fork: the parent's file is not ours.
    void forget() noexcept;

  private:
    static constexpr size_t kWindow = size_t{1} << 20;
    static constexpr size_t kPage = 4096;
    static constexpr size_t kRoom = size_t{1} << 13; // of the largest event
    static constexpr size_t kSmall = 32;             // of most

    bool map_window() noexcept;
    bool move_window() noexcept;
    // Makes sure that `size` more bytes fit.
    bool reserve(size_t size) noexcept {
        if (window_ == nullptr) return false;
        return preload::likely(used_ + size <= kWindow) || move_window();
    }
    // Room must be reserved for these.
    void byte(uint32_t value) noexcept { window_[used_++] = static_cast<uint8_t>(value); }
    void number(uint64_t value) noexcept;
    void text(const char *words, size_t size) noexcept;
    void command() noexcept;
    uint32_t number_of(const Stack &stack) noexcept;
    uint32_t interned(const Stack &stack) noexcept;
    uint32_t module_of(uint64_t address, uint64_t *inside) noexcept;

    char name_[512] = {};
    uint8_t *window_ = nullptr;
    uint64_t offset_ = 0; // of the window in the file
    size_t used_ = 0;     // of the window
    int pid_ = 0;
    uint32_t base_ = 0;
    uint32_t written_ = 0; // allocations in this file
    preload::StackTable stacks_;
    SeenStacks seen_;
    uint8_t *has_stack_ = nullptr; // by its number: whether the file has it
    static constexpr uint32_t kMostStacks = uint32_t{1} << SeenStacks::kNumberBits;
    static constexpr uint32_t kMaxModules = 1024;
    const void *modules_[kMaxModules] = {};
    uint32_t module_count_ = 0;
};

} // namespace reap::drag
