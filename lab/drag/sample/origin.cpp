#include "origin.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>

#include "stack_walk.h"

namespace reap::drag {
namespace {

constexpr unsigned kAddressBits = 48;

} // namespace

void Origin::record(reap_drag_samples &header, reap_drag_sample &row) noexcept {
    uint64_t frames[REAP_DRAG_FRAMES];
    const size_t count = preload::walk_stack(frames, REAP_DRAG_FRAMES);
    // A return address may be another function's first instruction: the call precedes it.
    for (size_t i = 0; i < count; ++i) row.frames[i] = locate(header, frames[i] - 1);
}

// The file that contains an address, and the address relative to its load bias.
uint64_t Origin::locate(reap_drag_samples &header, uint64_t address) noexcept {
    constexpr uint64_t kInside = (uint64_t{1} << kAddressBits) - 1;
    dl_find_object found{};
    if (_dl_find_object(reinterpret_cast<void *>(address), &found) != 0) return address & kInside;
    const link_map *map = found.dlfo_link_map;
    // The loader does not name the executable.
    const char *name = map->l_name[0] != '\0' ? map->l_name : header.program;
    // A library may be loaded at the address, and with the link_map, of one that was unloaded.
    const auto is = [&](const Module &module) {
        return module.map == map && strcmp(header.module + module.name, name) == 0;
    };
    uint32_t number = 0;
    while (number < count_ && !is(modules_[number])) ++number;
    if (number == count_) {
        const size_t size = strlen(name) + 1;
        if (count_ == kMost || size > sizeof header.module - header.modules) return address & kInside;
        memcpy(header.module + header.modules, name, size);
        modules_[count_++] = {map, static_cast<uint32_t>(header.modules)};
        header.modules += size;
    }
    return uint64_t{number + 1} << kAddressBits | ((address - map->l_addr) & kInside);
}

} // namespace reap::drag
