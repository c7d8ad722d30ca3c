#include "files/collections.h"

#include <cstring>

namespace reap::native {

std::vector<reap_collections_slot> read_collections(std::string_view bytes) {
    std::vector<reap_collections_slot> out;
    for (; bytes.size() >= sizeof(reap_collections_slot);
         bytes.remove_prefix(sizeof(reap_collections_slot))) {
        reap_collections_slot slot{};
        std::memcpy(&slot, bytes.data(), sizeof slot);
        if (slot.pid > 0 && slot.count >= 0 && slot.ns >= 0 && slot.longest_ns >= 0) out.push_back(slot);
    }
    return out;
}

} // namespace reap::native
