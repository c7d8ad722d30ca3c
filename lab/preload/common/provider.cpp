#include "provider.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

namespace reap::preload {
namespace {

// The object that contains `address`. A position-dependent executable that takes a function's address has an
// undefined symbol with a value, which the loader returns instead of the definition; `undefined` reports
// that.
Provider object_of(void *address, bool &undefined) noexcept {
    Dl_info info{};
    void *extra = nullptr;
    undefined = false;
    if (address == nullptr || dladdr1(address, &info, &extra, RTLD_DL_SYMENT) == 0) return {};
    const auto *symbol = static_cast<const ElfW(Sym) *>(extra);
    undefined = symbol != nullptr && symbol->st_shndx == SHN_UNDEF;
    void *map = nullptr;
    dladdr1(address, &info, &map, RTLD_DL_LINKMAP);
    const auto *object = static_cast<const link_map *>(map);
    // The first object of the chain is the executable; its name there is empty or argv[0].
    return {info.dli_fname != nullptr ? info.dli_fname : "", info.dli_fbase,
            object != nullptr && object->l_prev == nullptr};
}

} // namespace

Provider provider_of(const char *function) noexcept {
    bool undefined = false;
    const Provider first = object_of(dlsym(RTLD_DEFAULT, function), undefined);
    return undefined ? object_of(dlsym(RTLD_NEXT, function), undefined) : first;
}

Provider first_provider_of(const char *function) noexcept {
    bool undefined = false;
    const Provider first = object_of(dlsym(RTLD_DEFAULT, function), undefined);
    return undefined ? Provider{} : first;
}

Provider next_provider_of(const char *function) noexcept {
    bool undefined = false;
    return object_of(dlsym(RTLD_NEXT, function), undefined);
}

} // namespace reap::preload
