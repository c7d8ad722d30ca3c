#include "exported.h"

#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>

namespace reap::preload {
namespace {

constexpr uint16_t kHidden = 0x8000; // of a symbol's version: only programs that were linked with it call it

uint32_t gnu_hash(const char *name) noexcept {
    uint32_t hash = 5381;
    for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

// Of a function that is chosen by processor, as glibc's strlen, that which its resolver chooses.
const void *address_of(const Elf64_Sym &symbol, uint64_t base) noexcept {
    const uint64_t address = base + symbol.st_value;
    if (ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC) return reinterpret_cast<const void *>(address);
    return reinterpret_cast<const void *(*)(uint64_t)>(address)(getauxval(AT_HWCAP));
}

} // namespace

const void *exported(const link_map *module, const char *name) noexcept {
    const Elf64_Sym *symbols = nullptr;
    const char *strings = nullptr;
    const uint32_t *table = nullptr;
    const uint16_t *versions = nullptr;
    if (module->l_ld == nullptr) return nullptr;
    for (const Elf64_Dyn *entry = module->l_ld; entry->d_tag != DT_NULL; ++entry) {
        const auto *at = reinterpret_cast<const void *>(entry->d_un.d_ptr); // the loader has relocated it
        if (entry->d_tag == DT_SYMTAB) symbols = static_cast<const Elf64_Sym *>(at);
        if (entry->d_tag == DT_STRTAB) strings = static_cast<const char *>(at);
        if (entry->d_tag == DT_GNU_HASH) table = static_cast<const uint32_t *>(at);
        if (entry->d_tag == DT_VERSYM) versions = static_cast<const uint16_t *>(at);
    }
    if (symbols == nullptr || strings == nullptr || table == nullptr) return nullptr;
    // The vDSO's are not relocated.
    if (reinterpret_cast<uint64_t>(symbols) < module->l_addr) return nullptr;

    const uint32_t bucket_count = table[0];
    const uint32_t first = table[1];
    const uint32_t filter_words = table[2];
    const uint32_t *buckets = table + 4 + size_t{filter_words} * 2;
    const uint32_t *hashes = buckets + bucket_count;
    if (bucket_count == 0) return nullptr;
    const uint32_t hash = gnu_hash(name);
    uint32_t at = buckets[hash % bucket_count];
    if (at < first) return nullptr;
    for (;; ++at) {
        const uint32_t known = hashes[at - first];
        const bool is_older = versions != nullptr && (versions[at] & kHidden) != 0;
        if ((known | 1) == (hash | 1) && !is_older && symbols[at].st_shndx != SHN_UNDEF &&
            strcmp(strings + symbols[at].st_name, name) == 0)
            return address_of(symbols[at], module->l_addr);
        if ((known & 1) != 0) return nullptr;
    }
}

namespace {

struct Search {
    const char *name;
    const void *found;
};

// Called by dl_iterate_phdr, whose lock keeps the list of modules as it is.
int search_after_us(dl_phdr_info *, size_t, void *argument) noexcept {
    auto *const search = static_cast<Search *>(argument);
    dl_find_object here{};
    if (_dl_find_object(reinterpret_cast<void *>(&search_after_us), &here) != 0) return 1;
    const link_map *module = here.dlfo_link_map->l_next;
    for (; module != nullptr && search->found == nullptr; module = module->l_next)
        search->found = exported(module, search->name);
    return 1;
}

} // namespace

const void *exported_after_us(const char *name) noexcept {
    Search search{name, nullptr};
    dl_iterate_phdr(search_after_us, &search);
    return search.found;
}

} // namespace reap::preload
