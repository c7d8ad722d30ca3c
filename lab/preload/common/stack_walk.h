// Call stacks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// Fills `frames` with up to `limit` return addresses of the calling thread's stack, innermost first, without
// the preload's own frames, and `begins`, if given, with where they begin (their stack pointers); returns how
// many. Walks unwind tables (about 0.1 us a frame), takes no lock and
// does not allocate. The walk ends at a frame without tables and, on a stack that the program allocated
// itself, 64 KB before its end.
size_t walk_stack(uint64_t *frames, size_t limit, uint64_t *begins = nullptr) noexcept;

// From now on no system call is made for walks: of a stack that the program allocated itself only the
// innermost frame is returned.
void disable_stack_probing() noexcept;
bool stack_probing_enabled() noexcept;

// How far `address` is below the calling thread's descriptor, which lies at the end of the stack that the C
// library gave the thread. On a thread's own stack `walk_stack` follows every frame while probing is enabled.
uint64_t below_thread_descriptor(uint64_t address) noexcept;

// The addresses of the preload itself: [begin, end).
struct CodeRange {
    uint64_t begin;
    uint64_t end;
    [[nodiscard]] bool contains(uint64_t address) const noexcept { return address - begin < end - begin; }
};
extern CodeRange own_code_range; // empty before the first call of `find_own_code`
CodeRange find_own_code() noexcept;
inline CodeRange own_code() noexcept {
    if (own_code_range.end == 0) [[unlikely]]
        return find_own_code();
    return own_code_range;
}

// Where the main stack ends: the program's name lies above its first frame, and the kernel maps nothing else
// near. 0 before the preload's constructors have run.
extern const uint64_t kMainStackEnd;
inline constexpr uint64_t kMainStackBytes = 64 << 20;

inline bool on_main_stack(uint64_t address) noexcept { return kMainStackEnd - address <= kMainStackBytes; }

// Decides during one walk which frames may be followed. A frame's caller is read from memory above it; on a
// stack that the program allocated itself, the first frame may have no caller, and the stack may end there.
class StackReach {
  public:
    // Whether the frame at `at`, of at most 64 KB, may be followed.
    bool may_follow(uint64_t at) noexcept { return on_main_stack(at) || may_follow_elsewhere(at); }

  private:
    bool may_follow_elsewhere(uint64_t at) noexcept;

    uint64_t known_until_ = 0; // stack addresses below this are known to be mapped
};

} // namespace reap::preload
