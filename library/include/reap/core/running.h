#pragma once

#include <cstddef>
#include <cstdint>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::detail {

/// What became of the memory of a cleanup while its destructor ran.
enum class Ran {
    usual, ///< it is as it was
    freed, ///< it was freed, by a rewind or a reset; the layer still has it
    gone,  ///< all was freed, and the layer returned it to the source, or has itself ended
};

/// Destructors that run in this thread, for layers whose destructors may reset, rewind or end them: a call
/// that runs one learns that its memory was freed meanwhile, and with it perhaps the layer.
///
/// Nothing here knows the layer, so that the address of a local layer does not escape.
class Running {
  public:
    /// Runs a cleanup. If it is gone, the call that runs it has nothing left to do, and must not touch the
    /// layer.
    template <class Cleanup>
    [[nodiscard, gnu::noinline]] static Ran run(Cleanup *cleanup) noexcept {
        // note() writes to it by `innermost`. NOLINTNEXTLINE(misc-const-correctness)
        Running here(cleanup);
        cleanup->run(cleanup);
        innermost = here.outer_;
        return here.ran_;
    }
    /// To be called by layers when all objects in this memory are freed: by a rewind or a reset; and when it
    /// is returned to the source after a reset.
    static void freed(const void *data, std::size_t size) noexcept { note(Ran::freed, data, size); }
    static void gone(const void *data, std::size_t size) noexcept { note(Ran::gone, data, size); }
    /// Whether any destructor runs.
    [[nodiscard]] static bool any() noexcept { return innermost != nullptr; }

  private:
    explicit Running(const void *cleanup) noexcept : cleanup_(cleanup) { innermost = this; }
    static void note(Ran ran, const void *data, std::size_t size) noexcept {
        for (Running *running = innermost; running != nullptr; running = running->outer_) {
            const auto offset =
                reinterpret_cast<std::uintptr_t>(running->cleanup_) - reinterpret_cast<std::uintptr_t>(data);
            if (offset < size) running->ran_ = ran;
        }
    }

    static inline constinit thread_local Running *innermost = nullptr;

    const void *cleanup_;
    Running *outer_ = innermost;
    Ran ran_ = Ran::usual;
};

} // namespace reap::inline REAP_MODE::detail
