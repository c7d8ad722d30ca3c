#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>

#include "reap/core/mode.h"

/// What a StrictSource throws, so that a test sees whose exception it is.
struct StrictFailure : std::runtime_error {
    StrictFailure() : std::runtime_error("no memory, as the test wants it") {}
};

/// The source under what is tested: memory of malloc, exactly as large as asked for. Fails when it is told
/// to, and holds who stands on it to the contract: at its end nothing is left; what comes back is told its
/// size and alignment, is not closed to tools, and was allocated.
class StrictSource {
  public:
    StrictSource() = default;
    StrictSource(const StrictSource &) = delete;
    StrictSource &operator=(const StrictSource &) = delete;
    ~StrictSource();

    /// Calls fail from the next on: so many go well first, then so many fail.
    void fail_after(std::size_t calls, std::size_t failures = SIZE_MAX) {
        good_ = calls;
        bad_ = failures;
    }
    void fail_never() { fail_after(SIZE_MAX, 0); }

    void *try_allocate(std::size_t size, std::size_t alignment) noexcept;
    void *allocate(std::size_t size, std::size_t alignment);
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept;
    [[nodiscard]] bool owns(const void *address) const noexcept;

    /// How often it was asked, failures included.
    [[nodiscard]] std::size_t calls() const { return calls_; }
    /// Bytes, and blocks, that are out.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] std::size_t blocks() const { return live_.size(); }

  private:
    struct Block {
        std::size_t size;
        std::size_t alignment;
    };
    std::map<void *, Block> live_;
    std::size_t bytes_ = 0;
    std::size_t calls_ = 0;
    std::size_t good_ = SIZE_MAX;
    std::size_t bad_ = 0;
};
