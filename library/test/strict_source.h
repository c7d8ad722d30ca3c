#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <stdexcept>

#include "reap/core/mode.h"
#include "reap/core/size.h"

#if REAP_CHECKED && REAP_ASAN
#include <sanitizer/asan_interface.h>
#endif

/// What a StrictSource throws, so that a test sees whose exception it is.
struct StrictFailure : std::runtime_error {
    StrictFailure() : std::runtime_error("no memory, as the test wants it") {}
};

/// The source under what is tested: memory of malloc, exactly as large as asked for. Fails when it is told
/// to, and holds who stands on it to the contract: at its end nothing is left; what comes back is told its
/// size and alignment, is not closed to tools, and was handed out.
class StrictSource {
  public:
    StrictSource() = default;
    StrictSource(const StrictSource &) = delete;
    StrictSource &operator=(const StrictSource &) = delete;
    ~StrictSource() { EXPECT_EQ(live_.size(), 0U) << "memory was not given back"; }

    /// Calls fail from the next on: so many go well first, then so many fail.
    void fail_after(std::size_t calls, std::size_t failures = SIZE_MAX) {
        good_ = calls;
        bad_ = failures;
    }
    void fail_never() { fail_after(SIZE_MAX, 0); }

    void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        ++calls_;
        if (!reap::is_possible(size, alignment, 1) || size > std::size_t{1} << 32U) return nullptr;
        if (good_ > 0) {
            --good_;
        } else if (bad_ > 0) {
            --bad_;
            return nullptr;
        }
        void *data = nullptr;
        if (::posix_memalign(&data, std::max(alignment, sizeof(void *)), size + (size == 0)) != 0)
            return nullptr;
        live_[data] = {size, alignment};
        bytes_ += size;
        return data;
    }
    void *allocate(std::size_t size, std::size_t alignment) {
        void *const data = try_allocate(size, alignment);
        if (data == nullptr) throw StrictFailure();
        return data;
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        const auto found = live_.find(data);
        ASSERT_NE(found, live_.end()) << "it was not handed out, or came back before";
        EXPECT_EQ(found->second.size, size);
        EXPECT_EQ(found->second.alignment, alignment);
#if REAP_CHECKED && REAP_ASAN
        EXPECT_EQ(__asan_region_is_poisoned(data, size), nullptr);
#endif
        bytes_ -= found->second.size;
        live_.erase(found);
        std::free(data);
    }
    [[nodiscard]] bool owns(const void *address) const noexcept {
        const auto *const at = static_cast<const std::byte *>(address);
        for (const auto &[data, block] : live_) {
            const auto *const first = static_cast<const std::byte *>(data);
            if (at >= first && at < first + std::max<std::size_t>(block.size, 1)) return true;
        }
        return false;
    }

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
