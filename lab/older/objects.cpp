// Which object has an address: _dl_find_object (glibc 2.35), and dladdr where the program has no libdl.
#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <unistd.h>

#include "newer.h"

namespace reap::older {
namespace {

constinit Newer<int(void *, dl_find_object *)> newer_find_object{"_dl_find_object"};
constinit Newer<int(const void *, Dl_info *), Library::Later> newer_dladdr{"dladdr"};
constinit Newer<int(const void *, Dl_info *, void **, int), Library::Later> newer_dladdr1{"dladdr1"};

// The entry of the loader's list with this dynamic section.
struct Entry {
    uintptr_t dynamic;
    const link_map *found;
};

void find_entry(const link_map *module, void *passed) noexcept {
    auto &entry = *static_cast<Entry *>(passed);
    while (module != nullptr && reinterpret_cast<uintptr_t>(module->l_ld) != entry.dynamic)
        module = module->l_next;
    entry.found = module;
}

struct Wanted {
    uintptr_t address;
    dl_find_object *object;
};

int contains(dl_phdr_info *module, size_t, void *passed) noexcept {
    const auto &wanted = *static_cast<const Wanted *>(passed);
    bool inside = false;
    uintptr_t begin = UINTPTR_MAX;
    uintptr_t end = 0;
    uintptr_t eh_frame = 0;
    uintptr_t dynamic = 0;
    for (int i = 0; i < module->dlpi_phnum; ++i) {
        const ElfW(Phdr) &part = module->dlpi_phdr[i];
        const uintptr_t at = module->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_GNU_EH_FRAME) eh_frame = at;
        if (part.p_type == PT_DYNAMIC) dynamic = at;
        if (part.p_type != PT_LOAD) continue;
        if (wanted.address - at < part.p_memsz) inside = true;
        begin = std::min(begin, at);
        end = std::max(end, at + part.p_memsz);
    }
    if (!inside) return 0;
    Entry entry{dynamic, nullptr};
    with_modules(find_entry, &entry);
    const auto page = static_cast<uintptr_t>(getpagesize());
    *wanted.object = {};
    wanted.object->dlfo_map_start = reinterpret_cast<void *>(begin & ~(page - 1));
    wanted.object->dlfo_map_end = reinterpret_cast<void *>(end);
    wanted.object->dlfo_link_map = const_cast<link_map *>(entry.found);
    wanted.object->dlfo_eh_frame = reinterpret_cast<void *>(eh_frame);
    return 1;
}

} // namespace
} // namespace reap::older

using namespace reap::older;

extern "C" {

// Takes the loader's lock, unlike glibc's.
[[gnu::weak]] int _dl_find_object(void *address, dl_find_object *result) noexcept {
    if (auto *const newer = newer_find_object.get()) return newer(address, result);
    Wanted wanted{reinterpret_cast<uintptr_t>(address), result};
    const bool found = dl_iterate_phdr(contains, &wanted) == 1;
    return found && result->dlfo_link_map != nullptr && result->dlfo_eh_frame != nullptr ? 0 : -1;
}

// Names no symbol.
[[gnu::weak]] int dladdr1(const void *address, Dl_info *info, void **extra, int flags) noexcept {
    if (auto *const newer = newer_dladdr1.get()) return newer(address, info, extra, flags);
    dl_find_object object{};
    Wanted wanted{reinterpret_cast<uintptr_t>(address), &object};
    if (dl_iterate_phdr(contains, &wanted) == 0 || object.dlfo_link_map == nullptr) return 0;
    *info = {};
    info->dli_fname = object.dlfo_link_map->l_name;
    info->dli_fbase = object.dlfo_map_start;
    if (extra != nullptr) *extra = flags == RTLD_DL_LINKMAP ? object.dlfo_link_map : nullptr;
    return 1;
}

[[gnu::weak]] int dladdr(const void *address, Dl_info *info) noexcept {
    if (auto *const newer = newer_dladdr.get()) return newer(address, info);
    return dladdr1(address, info, nullptr, 0);
}

} // extern "C"
