// The statistics of this process's allocator, read by its own functions.
#pragma once

#include <cstdint>

#include "reap_resident.h"

namespace reap::preload {

// Calls the statistics function of an allocator of this kind (enum reap_resident_kind). Takes the allocator's
// own locks, as any of its functions does; allocates nothing.
void read_statistics(uint32_t kind, void *function, uint64_t (&values)[REAP_RESIDENT_VALUES]) noexcept;

class Statistics {
  public:
    // Finds the allocator and its statistics function. Call before there are threads.
    void find() noexcept;

    [[nodiscard]] uint32_t kind() const noexcept { return kind_; }
    [[nodiscard]] const char *provider() const noexcept { return provider_; }

    // Writable memory of the file that provides malloc, which stays mapped; both 0 if unknown.
    [[nodiscard]] uint64_t data_begin() const noexcept { return data_begin_; }
    [[nodiscard]] uint64_t data_end() const noexcept { return data_end_; }

    [[nodiscard]] uint64_t function() const noexcept { return reinterpret_cast<uint64_t>(function_); }

    // See read_statistics.
    void read(uint64_t (&values)[REAP_RESIDENT_VALUES]) noexcept {
        read_statistics(kind_, function_, values);
    }

  private:
    uint32_t kind_ = REAP_RESIDENT_NONE;
    const char *provider_ = "";
    void *function_ = nullptr;
    uint64_t data_begin_ = 0;
    uint64_t data_end_ = 0;
};

} // namespace reap::preload
