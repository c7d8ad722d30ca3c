// A program that links the default layers' code: in each mode they serve, and find the same faults as
// compiled ones.

#include <cstddef>

#include "reap/core/misuse.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"

namespace {

bool found = false;

template <class Layer>
bool serves() {
    Layer layer;
    constexpr std::size_t largest = std::size_t{1} << 20;
    std::size_t *newest = nullptr;
    for (std::size_t size = sizeof(std::size_t); size <= largest; size += size / 3 + 8) {
        newest = static_cast<std::size_t *>(layer.allocate(size));
        *newest = size;
        if (layer.try_allocate(size) == nullptr || *newest != size) return false;
    }
    layer.deallocate(newest, *newest);
    layer.reset();
    return true;
}

} // namespace

int main() {
    if (!serves<reap::Reap<>>() || !serves<reap::SizedReap<>>() || !serves<reap::Region<>>()) return 1;
    if constexpr (!reap::checked && !reap::hardened) return 0;
    reap::set_misuse_handler(
        [](const reap::MisuseReport &report) { found = report.what == reap::Misuse::double_free; });
    reap::Reap<> layer;
    void *const object = layer.allocate(40);
    layer.deallocate(object);
    layer.deallocate(object);
    return found ? 0 : 2;
}
