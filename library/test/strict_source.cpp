#include "strict_source.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>

#include "reap/core/size.h"

#if REAP_CHECKED && REAP_ASAN
#include <sanitizer/asan_interface.h>
#endif

StrictSource::~StrictSource() { EXPECT_EQ(live_.size(), 0U) << "memory was not returned"; }

void *StrictSource::try_allocate(std::size_t size, std::size_t alignment) noexcept {
    ++calls_;
    if (!reap::is_possible(size, alignment, 1) || size > std::size_t{1} << 32U) return nullptr;
    if (good_ > 0) {
        --good_;
    } else if (bad_ > 0) {
        --bad_;
        return nullptr;
    }
    void *data = nullptr;
    if (::posix_memalign(&data, std::max(alignment, sizeof(void *)), size + (size == 0)) != 0) return nullptr;
    live_[data] = {size, alignment};
    bytes_ += size;
    return data;
}

void *StrictSource::allocate(std::size_t size, std::size_t alignment) {
    void *const data = try_allocate(size, alignment);
    if (data == nullptr) throw StrictFailure();
    return data;
}

void StrictSource::deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
    const auto found = live_.find(data);
    ASSERT_NE(found, live_.end()) << "it was not allocated, or was freed before";
    EXPECT_EQ(found->second.size, size);
    EXPECT_EQ(found->second.alignment, alignment);
#if REAP_CHECKED && REAP_ASAN
    EXPECT_EQ(__asan_region_is_poisoned(data, size), nullptr);
#endif
    bytes_ -= found->second.size;
    live_.erase(found);
    std::free(data);
}

bool StrictSource::owns(const void *address) const noexcept {
    const auto *const at = static_cast<const std::byte *>(address);
    for (const auto &[data, block] : live_) {
        const auto *const first = static_cast<const std::byte *>(data);
        if (at >= first && at < first + std::max<std::size_t>(block.size, 1)) return true;
    }
    return false;
}
