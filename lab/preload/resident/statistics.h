// What the allocator of this process says of its memory, by its own functions.
#pragma once

#include <cstdint>

#include "reap_resident.h"

namespace reap::preload {

class Statistics {
  public:
    // Finds out who serves malloc, and by which function it can be asked. Call before there are threads.
    void find() noexcept;

    [[nodiscard]] uint32_t kind() const noexcept { return kind_; }
    [[nodiscard]] const char *provider() const noexcept { return provider_; }

    // Asks. Takes the allocator's own locks, as any of its functions does; allocates nothing by itself.
    void ask(uint64_t (&values)[REAP_RESIDENT_VALUES]) noexcept;

  private:
    uint32_t kind_ = REAP_RESIDENT_NONE;
    const char *provider_ = "";
    void *function_ = nullptr;
    uint64_t page_ = 4096;
};

} // namespace reap::preload
