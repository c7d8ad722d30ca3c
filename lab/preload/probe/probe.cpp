/* libreap-probe.so: which file serves each allocation function in this process?
 *
 * "The preload loaded" does not mean that malloc was replaced: the executable may export its own malloc,
 * another preload may come first, an allocator may lack a function so that two heaps are mixed. This
 * object looks at what the program itself will find, once, when the process starts, and appends one record
 * to the file named by REAP_PROBE. It is preloaded in warm-up runs, never in measured ones.
 *
 * A record is a fixed number of fields, each ended by a NUL, written by one write(2) to a file opened with
 * O_APPEND, so that records of a process tree do not mix: pid, executable, then for each function of
 * `functions` the file that it came from, empty if nobody has it.
 *
 * Freestanding C++20: needs libc alone and allocates nothing itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

/// Keep in step with reap.launch.probe.FUNCTIONS.
constexpr const char *functions[] = {"malloc",        "free",           "calloc",   "realloc",
                                     "aligned_alloc", "posix_memalign", "memalign", "malloc_usable_size"};
constexpr size_t most = 4096;

struct Provider {
    const char *file = "";
    bool executable = false;
};

/// The object that holds `address`. A program that is not position-independent and takes a function's
/// address has an undefined symbol with a value, and that is what the loader answers with: it stands for
/// whatever comes next, so `undefined` tells.
Provider object_of(void *address, bool &undefined) {
    Dl_info info{};
    void *extra = nullptr;
    undefined = false;
    if (address == nullptr || dladdr1(address, &info, &extra, RTLD_DL_SYMENT) == 0) return {};
    const auto *symbol = static_cast<const ElfW(Sym) *>(extra);
    undefined = symbol != nullptr && symbol->st_shndx == SHN_UNDEF;
    void *map = nullptr;
    dladdr1(address, &info, &map, RTLD_DL_LINKMAP);
    const auto *object = static_cast<const link_map *>(map);
    // The first object of the chain is the executable; its name there is empty or what argv[0] says.
    return {info.dli_fname != nullptr ? info.dli_fname : "", object != nullptr && object->l_prev == nullptr};
}

Provider provider_of(const char *function) {
    bool undefined = false;
    const Provider first = object_of(dlsym(RTLD_DEFAULT, function), undefined);
    return undefined ? object_of(dlsym(RTLD_NEXT, function), undefined) : first;
}

class Line {
  public:
    void add(const char *field) {
        const size_t length = strlen(field) + 1;
        if (used_ + length > sizeof text_) return;
        memcpy(text_ + used_, field, length);
        used_ += length;
    }

    void append_to(const char *path) const {
        const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (file < 0) return;
        (void)!write(file, text_, used_);
        close(file);
    }

  private:
    char text_[most * (2 + sizeof functions / sizeof *functions)] = {};
    size_t used_ = 0;
};

[[gnu::constructor]] void report() {
    const char *path = getenv("REAP_PROBE");
    if (path == nullptr) return;
    static constinit Line line;
    static char executable[most];
    char pid[16];
    snprintf(pid, sizeof pid, "%d", static_cast<int>(getpid()));
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[length > 0 ? length : 0] = '\0';
    line.add(pid);
    line.add(executable);
    for (const char *function : functions) {
        const Provider provider = provider_of(function);
        line.add(provider.executable ? executable : provider.file);
    }
    line.append_to(path);
}

} // namespace
