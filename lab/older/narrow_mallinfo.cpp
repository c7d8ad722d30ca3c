#include "narrow_mallinfo.h"

#include <cstdlib>
#include <unistd.h>

#include "platform.h"
#include "reap_resident.h"

namespace reap::preload {

struct mallinfo2 widen(const struct mallinfo &narrow, uint64_t writable) noexcept {
    const bool known = writable <= UINT32_MAX;
    const auto wide = [known](int field) -> size_t {
        return known ? static_cast<uint32_t>(field) : REAP_RESIDENT_UNKNOWN;
    };
    struct mallinfo2 result{};
    result.arena = wide(narrow.arena);
    result.hblkhd = wide(narrow.hblkhd);
    result.uordblks = wide(narrow.uordblks);
    result.fordblks = wide(narrow.fordblks);
    result.fsmblks = wide(narrow.fsmblks);
    result.keepcost = wide(narrow.keepcost);
    return result;
}

uint64_t writable_bytes() noexcept {
    constexpr int before = 5; // size, resident, shared, text, lib
    char text[256];
    text[read_file("/proc/self/statm", text, sizeof text - 1)] = '\0';
    char *at = text;
    for (int i = 0; i < before; ++i) strtoull(at, &at, 10);
    char *end = at;
    const uint64_t pages = strtoull(at, &end, 10);
    return end != at ? pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : UINT64_MAX;
}

} // namespace reap::preload
