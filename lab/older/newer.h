// Functions of glibc that are newer than 2.17, or were in libdl and libpthread before 2.34: looked up in the
// process, with a fall-back where there are none.
//
// This folder is linked where REAP_LIBC says so: into what a release ships. Its functions have the names of
// glibc's and are hidden, so that what is linked with it needs no newer symbol and no further library.
#pragma once

#include <cstddef>
#include <link.h>

namespace reap::older {

// For tests: whether this system seems to lack all that is newer.
extern bool hides_newer;
// For tests: entries of the loader's list that objects were searched in.
extern size_t entries_seen;

// Whether this is the child of a fork, in which the loader's lock may be taken for ever: by a thread of the
// parent.
extern bool is_copy;

// Calls `look` with the first module of the loader's list, whose lock is held meanwhile, but in such a child.
void with_modules(void (*look)(const link_map *first, void *passed), void *passed) noexcept;

// Whether a handle of dlopen is the program's own; false before modules were looked at.
bool is_program(const void *handle) noexcept;

// The first definition in the order of the loader's list, or null. Reads the modules' own tables, at about
// 0.1 us each, and allocates nothing.
const void *find_newer(const char *name) noexcept;

// Tell that this thread is about to open or close a library. The child of a fork finds modules by what they
// were when it was made, since the loader's lock may be taken there for ever; from now on as they are. The
// program's own handle, that of dlopen(nullptr), changes no module and takes no such lock.
void before_open(const char *file) noexcept;
void before_close(const void *handle) noexcept;

// Notes the modules for the child that this thread is about to fork. Takes the loader's lock, so it comes
// before any lock that a thread takes while it has that; else a handler of fork does it.
void prepare_fork() noexcept;

enum class Library { Libc, Later }; // Later: of a library that the program may load while it runs

template <class Function, Library from = Library::Libc>
class Newer {
  public:
    explicit constexpr Newer(const char *name) noexcept : name_(name) {}

    // The function, or null. What libc lacks is looked up once.
    [[nodiscard]] Function *get() noexcept {
        if (hides_newer) return nullptr;
        const void *known = __atomic_load_n(&found_, __ATOMIC_RELAXED);
        if (known == nullptr || (known == this && from == Library::Later)) {
            known = find_newer(name_);
            if (known == nullptr) known = this;
            __atomic_store_n(&found_, known, __ATOMIC_RELAXED);
        }
        return known == this ? nullptr : reinterpret_cast<Function *>(const_cast<void *>(known));
    }

  private:
    const char *name_;
    const void *found_ = nullptr; // (atomic) this object itself: there is none
};

} // namespace reap::older
