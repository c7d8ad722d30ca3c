#include "statistics.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <sys/auxv.h>

#include "narrow_mallinfo.h"
#include "provider.h"

namespace reap::preload {
namespace {

using Mallctl = int(const char *, void *, size_t *, void *, size_t);
using Property = int(const char *, size_t *);
using ProcessInfo = void(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *);
using Usage = void(size_t *, size_t *);

constexpr const char *narrow_name = "mallinfo";

struct Source {
    uint32_t kind;
    const char *function;
};

// An allocator's own functions first: many also define mallinfo2, which reports less.
constexpr Source sources[] = {
    {REAP_RESIDENT_JEMALLOC, "mallctl"},
    {REAP_RESIDENT_TCMALLOC, "MallocExtension_GetNumericProperty"},
    {REAP_RESIDENT_MIMALLOC, "mi_process_info"},
    {REAP_RESIDENT_GLIBC, "mallinfo2"},
    {REAP_RESIDENT_GLIBC, narrow_name}, // before glibc 2.33
};

struct mallinfo (*narrow)();

struct mallinfo2 widened() { return widen(narrow(), writable_bytes()); }

bool is_recorder(const char *file) noexcept {
    const char *name = strrchr(file, '/');
    return strcmp(name != nullptr ? name + 1 : file, "libreap-record.so") == 0;
}

// The writable part of the object at `base`.
struct Data {
    uint64_t base;
    uint64_t begin = 0;
    uint64_t end = 0;
};

int find_data(dl_phdr_info *object, size_t, void *passed) noexcept {
    auto &data = *static_cast<Data *>(passed);
    if (object->dlpi_addr != data.base) return 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr) &part = object->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
        data.begin = object->dlpi_addr + part.p_vaddr;
        data.end = data.begin + part.p_memsz;
    }
    return 1;
}

uint64_t value_or_unknown(bool available, uint64_t value) noexcept {
    return available ? value : REAP_RESIDENT_UNKNOWN;
}

void read_glibc(void *function, uint64_t *values) noexcept {
    const struct mallinfo2 info = reinterpret_cast<struct mallinfo2 (*)()>(function)();
    values[0] = info.arena;
    values[1] = info.hblkhd;
    values[2] = info.uordblks;
    values[3] = info.fordblks;
    values[4] = info.fsmblks;
    values[5] = info.keepcost;
}

void read_jemalloc(void *function, uint64_t *values) noexcept {
    const uint64_t page = getauxval(AT_PAGESZ);
    auto *const mallctl = reinterpret_cast<Mallctl *>(function);
    uint64_t epoch = 1;
    mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch); // refreshes the statistics
    const auto size = [mallctl](const char *name) noexcept {
        size_t value = 0;
        size_t length = sizeof value;
        const bool available = mallctl(name, &value, &length, nullptr, 0) == 0;
        return value_or_unknown(available, value);
    };
    values[0] = size("stats.allocated");
    values[1] = size("stats.active");
    values[2] = size("stats.metadata");
    values[3] = size("stats.resident");
    values[4] = size("stats.mapped");
    values[5] = size("stats.retained");
    // 4096 stands for all arenas together (MALLCTL_ARENAS_ALL).
    const auto pages = [size, page](const char *name) noexcept {
        const uint64_t count = size(name);
        return value_or_unknown(count != REAP_RESIDENT_UNKNOWN, count * page);
    };
    // A build without statistics, as that of Rust's crate, counts pages alone.
    if (values[1] == REAP_RESIDENT_UNKNOWN) values[1] = pages("stats.arenas.4096.pactive");
    values[6] = pages("stats.arenas.4096.pdirty");
    values[7] = pages("stats.arenas.4096.pmuzzy");
    values[8] = size("stats.arenas.4096.tcache_bytes");
    bool background = false;
    size_t length = sizeof background;
    const bool available = mallctl("background_thread", &background, &length, nullptr, 0) == 0;
    values[9] = value_or_unknown(available, background ? 1 : 0);
}

void read_tcmalloc(void *function, uint64_t *values) noexcept {
    auto *const property = reinterpret_cast<Property *>(function);
    constexpr const char *names[] = {"generic.current_allocated_bytes",
                                     "generic.heap_size",
                                     "tcmalloc.pageheap_free_bytes",
                                     "tcmalloc.pageheap_unmapped_bytes",
                                     "tcmalloc.current_total_thread_cache_bytes",
                                     "tcmalloc.central_cache_free_bytes",
                                     "tcmalloc.transfer_cache_free_bytes"};
    for (const char *name : names) {
        size_t value = 0;
        const bool available = property(name, &value) != 0;
        *values++ = value_or_unknown(available, value);
    }
}

void read_mimalloc(void *function, uint64_t *values) noexcept {
    size_t committed = 0;
    size_t peak = 0;
    size_t unused = 0;
    reinterpret_cast<ProcessInfo *>(function)(&unused, &unused, &unused, &unused, &unused, &committed, &peak,
                                              &unused);
    values[0] = committed;
    values[1] = peak;
}

void read_snmalloc(void *function, uint64_t *values) noexcept {
    size_t committed = 0;
    size_t peak = 0;
    reinterpret_cast<Usage *>(function)(&committed, &peak);
    values[0] = committed;
    values[1] = peak;
}

} // namespace

void Statistics::find() noexcept {
    const Provider first = provider_of("malloc");
    // The recorder interposes the real allocator and forwards every call.
    const Provider serves = is_recorder(first.file) ? next_provider_of("malloc") : first;
    provider_ = serves.file;
    for (const Source &source : sources) {
        // Statistics of a heap that is not in use would be misleading.
        if (serves.base == nullptr || provider_of(source.function).base != serves.base) continue;
        const bool is_narrow = source.function == narrow_name;
        if (is_narrow && provider_of("gnu_get_libc_version").base != serves.base) continue;
        kind_ = source.kind;
        function_ = dlsym(RTLD_DEFAULT, source.function);
        if (is_narrow) {
            narrow = reinterpret_cast<struct mallinfo (*)()>(function_);
            function_ = reinterpret_cast<void *>(&widened);
        }
        Data data{.base = reinterpret_cast<uint64_t>(serves.base)};
        dl_iterate_phdr(find_data, &data);
        data_begin_ = data.begin;
        data_end_ = data.end;
        return;
    }
}

void read_statistics(uint32_t kind, void *function, uint64_t (&values)[REAP_RESIDENT_VALUES]) noexcept {
    for (uint64_t &value : values) value = REAP_RESIDENT_UNKNOWN;
    switch (kind) {
    case REAP_RESIDENT_GLIBC:
        return read_glibc(function, values);
    case REAP_RESIDENT_JEMALLOC:
        return read_jemalloc(function, values);
    case REAP_RESIDENT_TCMALLOC:
        return read_tcmalloc(function, values);
    case REAP_RESIDENT_MIMALLOC:
        return read_mimalloc(function, values);
    case REAP_RESIDENT_SNMALLOC:
        return read_snmalloc(function, values);
    default:
        return;
    }
}

} // namespace reap::preload
