#include "own_slots.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include "exported.h"
#include "slow_path.h"

namespace reap::preload {
namespace {

constexpr uintptr_t kPage = 4096;

struct Family {
    const char *parts[3]; // each function has the first of them in its name, or under a prefix another;
                          // tcmalloc's in front
    const char *example;  // which every version has
    uint64_t bit;
    const link_map *library = nullptr; // that defines them

    [[nodiscard]] bool has(const char *name) const noexcept {
        // Names of C++: nearly all of libstdc++'s thousands of slots.
        if (name[0] == '_' && name[1] == 'Z') return false;
        if (bit == REAP_OWN_TCMALLOC) return strncmp(name, parts[0], strlen(parts[0])) == 0;
        for (const char *part : parts) {
            if (part != nullptr && strstr(name, part) != nullptr) return true;
        }
        return false;
    }
};
constinit Family families[] = {{{"allocx", "je_", "rjem_"}, "mallocx", REAP_OWN_JEMALLOC},
                               {{"mi_"}, "mi_malloc", REAP_OWN_MIMALLOC},
                               {{"tc_"}, "tc_malloc", REAP_OWN_TCMALLOC}};

// Modules all of whose calls are recorded, and the libraries.
struct Recorded {
    const link_map *module;
    uint64_t families;
};
constexpr size_t kMost = 256;
Recorded recorded[kMost];
size_t recorded_count = 0; // (atomic)

const link_map *module_of(const void *address) noexcept {
    dl_find_object found{};
    return _dl_find_object(const_cast<void *>(address), &found) == 0 ? found.dlfo_link_map : nullptr;
}

// Whether the executable or an object loaded before us defines the symbol: calls reach that one.
bool is_defined_before_us(const char *symbol) noexcept {
    const link_map *us = module_of(reinterpret_cast<const void *>(&is_defined_before_us));
    for (const link_map *module = us; module != nullptr; module = module->l_prev) {
        if (exported(module, symbol) != nullptr) return true;
    }
    return us == nullptr;
}

void *find_definition(const char *symbol) noexcept {
    // A dlsym that fails allocates.
    if (is_defined_before_us(symbol) || exported_after_us(symbol) == nullptr) return nullptr;
    return dlsym(RTLD_NEXT, symbol);
}

bool find_libraries() noexcept {
    bool any = false;
    for (Family &family : families) {
        family.library = module_of(find_definition(family.example));
        if (family.library == nullptr) continue;
        any = true;
        for (const OwnFunction &each : own_functions()) {
            if (!family.has(each.symbol)) continue;
            void *found = find_definition(each.symbol);
            if (module_of(found) == family.library) __atomic_store_n(each.real, found, __ATOMIC_RELEASE);
        }
    }
    return any;
}

const OwnFunction *find(const char *name) noexcept {
    for (const OwnFunction &each : own_functions()) {
        if (each.wrapper != nullptr && strcmp(each.symbol, name) == 0) return &each;
    }
    return nullptr;
}

// Whether a function that has no entry may allocate or free.
bool may_allocate(const char *name) noexcept {
    static const char *const kQueries[] = {
        "nallocx",         "mi_malloc_size", "mi_malloc_usable_size", "mi_malloc_good_size", "tc_malloc_size",
        "tc_malloc_stats", "tc_nallocx",     "tc_set_new_mode"};
    for (const char *query : kQueries) {
        if (strcmp(query, name) == 0) return false;
    }
    static const char *const kParts[] = {"alloc", "dup", "new", "realpath", "memalign", "free", "destroy"};
    for (const char *part : kParts) {
        if (strstr(name, part) != nullptr) return true;
    }
    return false;
}

uint64_t family_of(const char *name) noexcept {
    for (const Family &family : families) {
        if (family.library != nullptr && family.has(name)) return family.bit;
    }
    return 0;
}

// A loaded module, as its own tables describe it.
class ModuleSlots {
  public:
    explicit ModuleSlots(const dl_phdr_info &info) noexcept
        : bias_(info.dlpi_addr), segments_(info.dlpi_phdr), count_(info.dlpi_phnum) {
        const Elf64_Dyn *entry = nullptr;
        for (unsigned i = 0; i < count_; ++i) {
            if (segments_[i].p_type == PT_DYNAMIC)
                entry = reinterpret_cast<const Elf64_Dyn *>(bias_ + segments_[i].p_vaddr);
        }
        if (entry == nullptr) return;
        map_ = module_of(entry);
        for (; entry->d_tag != DT_NULL; ++entry) read(*entry);
    }

    [[nodiscard]] const link_map *map() const noexcept { return map_; }

    // Sets the slots to our functions.
    void patch() noexcept {
        for_each_slot([this](const Elf64_Rela &slot, const char *name, uint64_t family) {
            const OwnFunction *function = find(name);
            const bool done = function == nullptr ? !may_allocate(name) : patch_slot(slot, *function);
            if (!done) missed_ |= family;
            if (done && function != nullptr) patched_ |= family;
        });
    }

    // Whether the module calls such functions.
    [[nodiscard]] bool has_any() const noexcept {
        bool any = false;
        for_each_slot([&any](const Elf64_Rela &, const char *name, uint64_t) { any |= may_allocate(name); });
        return any;
    }

    // Bits of the families all of whose functions that the module calls are recorded.
    [[nodiscard]] uint64_t whole() const noexcept { return patched_ & ~missed_; }

  private:
    void read(const Elf64_Dyn &entry) noexcept {
        const uint64_t value = entry.d_un.d_ptr; // the loader has relocated addresses
        if (entry.d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const Elf64_Sym *>(value);
        if (entry.d_tag == DT_STRTAB) strings_ = reinterpret_cast<const char *>(value);
        if (entry.d_tag == DT_STRSZ) string_bytes_ = value;
        if (entry.d_tag == DT_RELA) relocations_ = reinterpret_cast<const Elf64_Rela *>(value);
        if (entry.d_tag == DT_RELASZ) relocation_bytes_ = value;
        if (entry.d_tag == DT_JMPREL) lazy_ = reinterpret_cast<const Elf64_Rela *>(value);
        if (entry.d_tag == DT_PLTRELSZ) lazy_bytes_ = value;
    }

    template <class Visit>
    void for_each_slot(Visit visit) const noexcept {
        // The vDSO's tables are not relocated.
        if (map_ == nullptr || reinterpret_cast<uint64_t>(symbols_) <= bias_ || strings_ == nullptr) return;
        for_each_slot(lazy_, lazy_bytes_, visit);
        for_each_slot(relocations_, relocation_bytes_, visit);
    }

    template <class Visit>
    void for_each_slot(const Elf64_Rela *table, uint64_t bytes, Visit visit) const noexcept {
        if (reinterpret_cast<uint64_t>(table) <= bias_) return;
        for (uint64_t i = 0; i < bytes / sizeof *table; ++i) {
            const uint64_t type = ELF64_R_TYPE(table[i].r_info);
            const uint64_t number = ELF64_R_SYM(table[i].r_info);
            const bool names = type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
            if (!names || number == 0 || symbols_[number].st_name >= string_bytes_) continue;
            const char *name = strings_ + symbols_[number].st_name;
            if (const uint64_t family = family_of(name)) visit(table[i], name, family);
        }
    }

    // Whether calls by this slot are recorded, or there are none.
    bool patch_slot(const Elf64_Rela &relocation, const OwnFunction &function) noexcept {
        auto **const slot = reinterpret_cast<void **>(bias_ + relocation.r_offset);
        const int access = access_to(static_cast<const void *>(slot));
        if (access == PROT_NONE) return false;
        void *const bound = __atomic_load_n(slot, __ATOMIC_RELAXED);
        if (bound == nullptr) return true; // a weak reference without definition
        // A slot that is not bound yet leads into the module's own stub. The address of a function in a
        // position-dependent executable is such a stub, too: the stub's own slot is what counts.
        const bool stub = module_of(bound) == map_;
        if (stub && ELF64_R_TYPE(relocation.r_info) != R_X86_64_JUMP_SLOT) return true;
        if (*function.real == nullptr || (!stub && bound != *function.real)) return false;
        return store(slot, function.wrapper(), access);
    }

    static bool store(void **slot, void *address, int access) noexcept {
        const uintptr_t page = reinterpret_cast<uintptr_t>(slot) & ~(kPage - 1);
        auto *const begin = reinterpret_cast<void *>(page);
        if (access == PROT_READ && mprotect(begin, kPage, PROT_READ | PROT_WRITE) != 0) return false;
        __atomic_store_n(slot, address, __ATOMIC_RELEASE);
        if (access == PROT_READ) mprotect(begin, kPage, PROT_READ);
        return true;
    }

    // PROT_READ where the loader made the slot read-only after it was bound, PROT_WRITE where it is writable,
    // else PROT_NONE.
    [[nodiscard]] int access_to(const void *slot) const noexcept {
        const auto begin = reinterpret_cast<uint64_t>(slot);
        const uint64_t end = begin + sizeof(void *);
        if (begin % sizeof(void *) != 0) return PROT_NONE;
        int access = PROT_NONE;
        for (unsigned i = 0; i < count_; ++i) {
            uint64_t first = bias_ + segments_[i].p_vaddr;
            uint64_t last = first + segments_[i].p_memsz;
            const uint32_t type = segments_[i].p_type;
            if (type == PT_GNU_RELRO) { // the loader protects whole pages
                first &= ~(kPage - 1);
                last &= ~(kPage - 1);
            }
            if (begin < first || end > last) continue;
            if (type == PT_GNU_RELRO) return PROT_READ;
            if (type == PT_LOAD && (segments_[i].p_flags & PF_W) != 0) access = PROT_WRITE;
        }
        return access;
    }

    uint64_t bias_;
    const Elf64_Phdr *segments_;
    unsigned count_;
    const link_map *map_ = nullptr;
    const Elf64_Sym *symbols_ = nullptr;
    const char *strings_ = nullptr;
    uint64_t string_bytes_ = 0;
    const Elf64_Rela *relocations_ = nullptr;
    uint64_t relocation_bytes_ = 0;
    const Elf64_Rela *lazy_ = nullptr;
    uint64_t lazy_bytes_ = 0;
    uint64_t patched_ = 0;
    uint64_t missed_ = 0;
};

void note_recorded(const link_map *module, uint64_t bits) noexcept {
    if (bits == 0 || recorded_count == kMost) return;
    recorded[recorded_count] = {module, bits};
    __atomic_store_n(&recorded_count, recorded_count + 1, __ATOMIC_RELEASE);
}

// Libraries call themselves: that is no call of the program.
uint64_t families_defined_by(const link_map *module) noexcept {
    uint64_t bits = 0;
    for (const Family &family : families) {
        if (module != nullptr && module == family.library) bits |= family.bit;
    }
    return bits;
}

unsigned long long modules_added = 0; // (atomic) when they were looked at last

// Called by dl_iterate_phdr, whose lock keeps the list of modules as it is.
int patch_module(dl_phdr_info *info, size_t /*size*/, void * /*argument*/) noexcept {
    modules_added = info->dlpi_adds;
    ModuleSlots module(*info);
    if (const uint64_t bits = families_defined_by(module.map())) {
        note_recorded(module.map(), bits);
        return 0;
    }
    module.patch();
    note_recorded(module.map(), module.whole());
    return 0;
}

// The same.
int define_opened_module(dl_phdr_info *info, size_t /*size*/, void *argument) noexcept {
    const auto *known = static_cast<const unsigned long long *>(argument);
    if (info->dlpi_adds == *known) return 1;
    __atomic_store_n(&modules_added, info->dlpi_adds, __ATOMIC_RELAXED);
    const ModuleSlots module(*info);
    if (own_functions_of(module.map()) == 0 && module.has_any())
        image.define_module(reinterpret_cast<uint64_t>(module.map()->l_ld));
    return 0;
}

bool has_library = false;
bool is_fork = false; // another thread of the parent may have had the lock of the list

} // namespace

uint64_t own_functions_of(const link_map *module) noexcept {
    const size_t known = __atomic_load_n(&recorded_count, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < known; ++i) {
        if (recorded[i].module == module) return recorded[i].families;
    }
    return 0;
}

void patch_own_slots() noexcept {
    const ErrnoGuard keep;
    if (!find_libraries()) return;
    dl_iterate_phdr(patch_module, nullptr);
    pthread_atfork(nullptr, nullptr, [] { is_fork = true; });
    has_library = true;
}

void define_own_modules() noexcept {
    for (size_t i = 0; i < recorded_count; ++i)
        image.define_module(reinterpret_cast<uint64_t>(recorded[i].module->l_ld));
}

void define_opened_modules() noexcept {
    if (!has_library || is_fork) return;
    unsigned long long known = __atomic_load_n(&modules_added, __ATOMIC_RELAXED);
    dl_iterate_phdr(define_opened_module, &known);
}

namespace {

// Those that were opened last.
[[gnu::destructor]] void define_at_exit() {
    if (!has_library || image.is_copy() || !ready(thread_state)) return;
    const Inside inside(thread_state);
    define_opened_modules();
}

} // namespace

} // namespace reap::preload
