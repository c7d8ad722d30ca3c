#include "python/stacks.h"

namespace reap::preload {

bool place_python(const PythonFrame *python, size_t python_count, const uint64_t *begins, size_t count,
                  PythonRange *ranges) noexcept {
    for (size_t at = 0; at < count; ++at) ranges[at] = {0, 0};
    size_t at = 0;
    for (size_t begin = 0; begin != python_count;) {
        const uint64_t call = python[begin].call;
        size_t end = begin + 1;
        while (end != python_count && !python[end - 1].entry) ++end;
        // Both stacks are cut where they are deep: what is further out has no place.
        if (call == 0 || count == 0 || call >= begins[count - 1]) return true;
        while (at + 1 < count && call >= begins[at + 1]) ++at;
        if (call < begins[at] || ranges[at].end != 0) return false;
        ranges[at] = {static_cast<uint8_t>(begin), static_cast<uint8_t>(end)};
        begin = end;
    }
    return true;
}

} // namespace reap::preload
