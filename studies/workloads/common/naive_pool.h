#pragma once

#include <cstddef>
#include <cstdlib>
#include <malloc.h>
#include <utility>

/// How APR's pools are switched off: each object is a malloc of its own, freed when its pool is cleared or
/// destroyed, or by ap_pfree().
class PoolMemory {
  public:
    PoolMemory() = default;
    PoolMemory(const PoolMemory &) = delete;
    PoolMemory &operator=(const PoolMemory &) = delete;
    ~PoolMemory() { clear(); }

    [[nodiscard]] void *try_allocate(std::size_t size) noexcept {
        auto *const object = static_cast<Object *>(std::malloc(sizeof(Object) + size));
        if (object == nullptr) return nullptr;
        object->older = newest_;
        object->newer = nullptr;
        if (newest_ != nullptr) newest_->newer = object;
        newest_ = object;
        return object + 1;
    }
    void deallocate(void *freed) noexcept {
        if (freed == nullptr) return;
        Object *const object = static_cast<Object *>(freed) - 1;
        (object->newer != nullptr ? object->newer->older : newest_) = object->older;
        if (object->older != nullptr) object->older->newer = object->newer;
        std::free(object);
    }
    void clear() noexcept {
        while (newest_ != nullptr) std::free(std::exchange(newest_, newest_->older));
    }
    [[nodiscard]] std::size_t held() const noexcept {
        std::size_t bytes = 0;
        for (Object *object = newest_; object != nullptr; object = object->older)
            bytes += malloc_usable_size(object);
        return bytes;
    }

  private:
    struct alignas(16) Object {
        Object *older;
        Object *newer;
    };
    Object *newest_ = nullptr;
};
