// Set of the chunks in glibc's fastbins: they look in use, and malloc_trim joins them with their neighbours.
#pragma once

#include <cstdint>

namespace reap::glibc {

// Has no destructor, since the process may end while it is in use: `clear` gives its memory back.
class FastChunks {
  public:
    // Reserves room for chunks in heaps of `bytes` in all, `heaps` in number. False without memory for it;
    // then none is ever contained. A 128th of the heaps' memory becomes resident at most.
    bool reserve(uint64_t bytes, uint64_t heaps) noexcept;
    void clear() noexcept;

    void add(uint64_t chunk) noexcept;
    [[nodiscard]] bool contains(uint64_t chunk) noexcept;
    [[nodiscard]] bool empty() const noexcept { return used_ == 0; }

  private:
    static constexpr uint64_t span = uint64_t{64} << 20; // of addresses, for which there is one map
    static constexpr uint64_t map_bytes = span / 16 / 8;
    static constexpr uint64_t most = 512;

    // The map of an address, or null.
    unsigned char *map_of(uint64_t chunk, bool make) noexcept;

    unsigned char *maps_ = nullptr;
    uint64_t room_ = 0;
    uint64_t used_ = 0;
    uint64_t last_ = 0; // the map that was asked for last
    uint64_t spans_[most] = {};
};

} // namespace reap::glibc
