// Which object has an address: _dl_find_object (glibc 2.35), and dladdr where the program has no libdl.
#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "newer.h"
#include "single_threaded.h"

namespace reap::older {
namespace {

constinit Newer<int(void *, dl_find_object *)> newer_find_object{"_dl_find_object"};
constinit Newer<int(const void *, Dl_info *), Library::Later> newer_dladdr{"dladdr"};
constinit Newer<int(const void *, Dl_info *, void **, int), Library::Later> newer_dladdr1{"dladdr1"};

// The entry of the loader's list with this dynamic section. The search begins behind the one that was found
// before: the loader names modules in the order of its list, so that all of them take one pass.
struct Entry {
    uintptr_t dynamic = 0;
    const link_map *found = nullptr;
};

void find_entry(const link_map *first, void *passed) noexcept {
    auto &entry = *static_cast<Entry *>(passed);
    const link_map *const begin = entry.found != nullptr ? entry.found->l_next : first;
    size_t seen = 0;
    const auto find = [&](const link_map *module, const link_map *end) {
        for (; module != end; module = module->l_next) {
            ++seen;
            if (reinterpret_cast<uintptr_t>(module->l_ld) == entry.dynamic) return module;
        }
        return static_cast<const link_map *>(nullptr);
    };
    const link_map *found = find(begin, nullptr);
    if (found == nullptr) found = find(first, begin);
    entry.found = found;
    if (hides_newer) __atomic_fetch_add(&entries_seen, seen, __ATOMIC_RELAXED);
}

struct Wanted {
    uintptr_t address;
    dl_find_object *object;
};

// Describes a module that has `address`, and returns whether it does; 0 is an address of any. `entry` is that
// of the module before, or empty.
bool describe(const dl_phdr_info &module, uintptr_t address, dl_find_object &object, Entry &entry) noexcept {
    bool inside = address == 0;
    uintptr_t begin = UINTPTR_MAX;
    uintptr_t end = 0;
    uintptr_t eh_frame = 0;
    uintptr_t dynamic = 0;
    for (int i = 0; i < module.dlpi_phnum; ++i) {
        const ElfW(Phdr) &part = module.dlpi_phdr[i];
        const uintptr_t at = module.dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_GNU_EH_FRAME) eh_frame = at;
        if (part.p_type == PT_DYNAMIC) dynamic = at;
        if (part.p_type != PT_LOAD) continue;
        if (address - at < part.p_memsz) inside = true;
        begin = std::min(begin, at);
        end = std::max(end, at + part.p_memsz);
    }
    if (!inside) return false;
    entry.dynamic = dynamic;
    with_modules(find_entry, &entry);
    const auto page = static_cast<uintptr_t>(getpagesize());
    object = {};
    object.dlfo_map_start = reinterpret_cast<void *>(begin & ~(page - 1));
    object.dlfo_map_end = reinterpret_cast<void *>(end);
    object.dlfo_link_map = const_cast<link_map *>(entry.found);
    object.dlfo_eh_frame = reinterpret_cast<void *>(eh_frame);
    return true;
}

int contains(dl_phdr_info *module, size_t, void *passed) noexcept {
    const auto &wanted = *static_cast<const Wanted *>(passed);
    Entry entry;
    return describe(*module, wanted.address, *wanted.object, entry) ? 1 : 0;
}

// The modules as they were when a thread forked: its child has no other thread, and finds the loader's lock
// taken for ever if another had it at that moment.
class AtFork {
  public:
    void prepare() noexcept {
        if (newer_find_object.get() != nullptr || *single_threaded != 0) return;
        const auto self = static_cast<pid_t>(syscall(SYS_gettid));
        if (__atomic_load_n(&forking_, __ATOMIC_RELAXED) == self) return; // see prepare_fork
        for (pid_t none = 0;
             !__atomic_compare_exchange_n(&forking_, &none, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
             none = 0)
            sched_yield();
        if (is_copy) return; // they are known, and the lock may be taken
        count_ = 0;
        entry_ = {};
        dl_iterate_phdr(
            [](dl_phdr_info *module, size_t, void *passed) noexcept {
                auto &self = *static_cast<AtFork *>(passed);
                if (describe(*module, 0, self.objects_[self.count_], self.entry_)) ++self.count_;
                return self.count_ == kMost ? 1 : 0;
            },
            this);
    }
    // Writes nothing where nothing was prepared, and so do children: each page would be copied.
    void in_parent() noexcept {
        if (__atomic_load_n(&forking_, __ATOMIC_RELAXED) != 0)
            __atomic_store_n(&forking_, 0, __ATOMIC_RELEASE);
    }
    void in_child() noexcept {
        if (forking_ == 0) return;
        is_copy = is_copy || count_ > 0;
        forking_ = 0;
    }
    [[nodiscard]] bool find(uintptr_t address, dl_find_object &object) const noexcept {
        for (size_t i = 0; i < count_; ++i) {
            const auto begin = reinterpret_cast<uintptr_t>(objects_[i].dlfo_map_start);
            const auto end = reinterpret_cast<uintptr_t>(objects_[i].dlfo_map_end);
            if (address - begin >= end - begin) continue;
            object = objects_[i];
            return true;
        }
        return false;
    }

  private:
    static constexpr size_t kMost = 1024;
    pid_t forking_ = 0; // (atomic) the thread that forks
    size_t count_ = 0;
    Entry entry_; // of the last
    dl_find_object objects_[kMost]{};
};

constinit AtFork at_fork;

// Runs before the other constructors of the object: its handlers in a child are the first.
[[gnu::constructor(101)]] void prepare_for_forks() {
    pthread_atfork([] { at_fork.prepare(); }, [] { at_fork.in_parent(); }, [] { at_fork.in_child(); });
}

bool find_object(const void *address, dl_find_object &object) noexcept {
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (is_copy) return at_fork.find(at, object);
    Wanted wanted{at, &object};
    return dl_iterate_phdr(contains, &wanted) == 1;
}

} // namespace

void before_open(const char *file) noexcept {
    if (file != nullptr && *file != '\0') is_copy = false;
}

void before_close(const void *handle) noexcept {
    if (!is_program(handle)) is_copy = false;
}

void prepare_fork() noexcept { at_fork.prepare(); }

} // namespace reap::older

using namespace reap::older;

extern "C" {

// Takes the loader's lock, unlike glibc's, but in the child of a fork.
[[gnu::weak]] int _dl_find_object(void *address, dl_find_object *result) noexcept {
    if (auto *const newer = newer_find_object.get()) return newer(address, result);
    return find_object(address, *result) && result->dlfo_link_map != nullptr &&
                   result->dlfo_eh_frame != nullptr
               ? 0
               : -1;
}

// Names no symbol.
[[gnu::weak]] int dladdr1(const void *address, Dl_info *info, void **extra, int flags) noexcept {
    if (auto *const newer = newer_dladdr1.get()) return newer(address, info, extra, flags);
    dl_find_object object{};
    if (!find_object(address, object) || object.dlfo_link_map == nullptr) return 0;
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
