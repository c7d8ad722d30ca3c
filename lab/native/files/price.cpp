#include "files/price.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <system_error>

#include "files/file.h"

namespace reap::native {
namespace {

// No time in nanoseconds and no size in bytes is as large.
constexpr uint64_t kMostSpent = UINT64_C(1) << 56;

bool is_plausible(const reap_price_slot &slot) {
    return slot.ended <= 1 &&
           std::max({slot.touch_ns, slot.free_ns, slot.touch_faults, slot.touched}) < kMostSpent;
}

} // namespace

void create_price(const std::string &path) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) throw std::system_error(errno, std::generic_category(), path);
    const auto empty = std::make_unique<reap_price_file>();
    empty->magic = REAP_PRICE_MAGIC;
    write_all(file, empty.get(), sizeof *empty, 0, path);
}

std::optional<std::vector<reap_price_slot>> read_price(const std::string &path) {
    const File file(path);
    const auto said = std::make_unique<reap_price_file>();
    if (file.size() != sizeof *said || file.read_at(said.get(), sizeof *said, 0) != sizeof *said ||
        said->magic != REAP_PRICE_MAGIC)
        return std::nullopt;
    const uint64_t claimed = std::min<uint64_t>(said->next_slot, REAP_PRICE_SLOTS);
    std::vector<reap_price_slot> slots(said->slots, said->slots + claimed);
    if (!std::all_of(slots.begin(), slots.end(), is_plausible)) return std::nullopt;
    return slots;
}

} // namespace reap::native
