// From addresses to words, for the engine's own records: open addressing in mapped memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::drag {

// Not thread-safe. A lookup is one miss of the cache; grows at four fifths. An entry holds until the next
// change. Address 0 is none.
class AddressMap {
  public:
    struct Entry {
        uintptr_t address; // 0: empty
        uintptr_t word;
    };

    // Null where there is none.
    [[nodiscard]] Entry *find(uintptr_t address) noexcept;
    // False where there is no memory. The address is not in it yet.
    bool add(uintptr_t address, uintptr_t word) noexcept;
    void remove(Entry *entry) noexcept;

    template <class Each>
    void each(Each call) noexcept {
        for (size_t i = 0; i < count_; ++i)
            if (entries_[i].address != 0) call(entries_[i]);
    }

  private:
    [[nodiscard]] size_t home(uintptr_t address) const noexcept;
    [[nodiscard]] Entry *place_of(uintptr_t address) noexcept;
    bool grow() noexcept;

    Entry *entries_ = nullptr;
    size_t count_ = 0; // a power of two
    size_t filled_ = 0;
};

} // namespace reap::drag
