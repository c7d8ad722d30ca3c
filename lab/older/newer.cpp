#include "newer.h"

#include "exported.h"
#include "single_threaded.h"

namespace reap::older {

bool hides_newer = false;
size_t entries_seen = 0;
bool is_copy = false;

namespace {

struct Look {
    void (*look)(const link_map *, void *);
    void *passed;
};

const link_map *first = nullptr; // (atomic) of the loader's list; it stays

// The program, which dl_iterate_phdr names first, has the address of the loader's list.
int look_at_program(dl_phdr_info *program, size_t, void *passed) noexcept {
    const auto &[look, argument] = *static_cast<const Look *>(passed);
    for (int i = 0; i < program->dlpi_phnum; ++i) {
        const ElfW(Phdr) &part = program->dlpi_phdr[i];
        if (part.p_type != PT_DYNAMIC) continue;
        const auto *entry = reinterpret_cast<const ElfW(Dyn) *>(program->dlpi_addr + part.p_vaddr);
        for (; entry->d_tag != DT_NULL; ++entry) {
            const auto *const debug = reinterpret_cast<const r_debug *>(entry->d_un.d_ptr);
            if (entry->d_tag != DT_DEBUG || debug == nullptr) continue;
            __atomic_store_n(&first, debug->r_map, __ATOMIC_RELAXED);
            look(debug->r_map, argument);
        }
    }
    return 1;
}

struct Search {
    const char *name;
    const void *found;
};

void search_modules(const link_map *module, void *passed) noexcept {
    auto &search = *static_cast<Search *>(passed);
    for (; module != nullptr && search.found == nullptr; module = module->l_next)
        search.found = preload::exported(module, search.name);
}

constexpr char never = 0;

} // namespace

void with_modules(void (*look)(const link_map *, void *), void *passed) noexcept {
    const link_map *const known = __atomic_load_n(&first, __ATOMIC_RELAXED);
    if (is_copy && known != nullptr) return look(known, passed);
    Look both{look, passed};
    dl_iterate_phdr(look_at_program, &both);
}

bool is_program(const void *handle) noexcept {
    return handle != nullptr && handle == __atomic_load_n(&first, __ATOMIC_RELAXED);
}

const void *find_newer(const char *name) noexcept {
    Search search{name, nullptr};
    with_modules(search_modules, &search);
    return search.found;
}

constinit const char *single_threaded = &never;

// Before the other constructors of the object.
[[gnu::constructor(101)]] static void find_single_threaded() {
    if (const void *const found = find_newer("__libc_single_threaded"); found != nullptr)
        single_threaded = static_cast<const char *>(found);
}

} // namespace reap::older
