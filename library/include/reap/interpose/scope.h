#pragma once

/* Scopes of libreap-malloc.so: while one is open, what its thread requests of malloc and operator new, in
 * every library, lies side by side in chunks of the scope. For C and C++; docs/library/reap-malloc.md has an
 * example.
 *
 * Objects are freed as always, by any thread and at any time, within the scope or years later: each chunk
 * counts its objects and is used again when all are freed. One that outlives its scope keeps up to 32 KB from
 * being used. When 64 chunks of a thread are kept so, its scopes leave requests to the heap until some are
 * freed.
 *
 * Where libreap-malloc does not serve the program, all of this does nothing. Preload it, or link
 * Reap::malloc.
 *
 * Cost: 7 ns to open and close one; malloc and free take some instructions more than outside. Objects over 4
 * KB, and of an alignment above 16, are the heap's. Nothing here may be called by a signal handler. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's own, null without it: what follows asks. */
size_t reap_malloc_open_scope(void) __attribute__((weak));
void reap_malloc_close_scope(size_t scope) __attribute__((weak));
int reap_malloc_leave_scope(int leave) __attribute__((weak));

/* Opens a scope for this thread, and returns its number; 0 where there is none: 16 are open, or memory is
 * exhausted. Then objects are those of the scope around it, or the heap's. */
static inline size_t reap_scope_open(void) { /* NOLINT(modernize-redundant-void-arg): of C, too */
    return reap_malloc_open_scope ? reap_malloc_open_scope() : 0;
}
/* Closes the scope of that number, and those that were opened after it and that a longjmp() skipped; 0 is
 * none. In the thread that opened it, and once: the next scope has its number. */
static inline void reap_scope_close(size_t scope) {
    if (scope != 0) reap_malloc_close_scope(scope);
}
/* With 1, what this thread requests is the heap's again; with 0, the innermost scope's, if one is open.
 * Returns what to pass to have it as it was. */
static inline int reap_scope_leave(int leave) {
    return reap_malloc_leave_scope ? reap_malloc_leave_scope(leave) : 1;
}

#ifdef __cplusplus
}

namespace reap {

/* A scope from here to the closing brace, in the thread that it begins in:
 *
 *     for (const Request &each : requests) {
 *         const reap::Scope scope;
 *         answer(each);
 *     } */
class Scope {
  public:
    Scope() noexcept : number_(reap_scope_open()) {}
    ~Scope() { reap_scope_close(number_); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

    /* Leaves the scopes around it, for code whose objects live on: to its own closing brace. */
    class Outside {
      public:
        Outside() noexcept : before_(reap_scope_leave(1)) {}
        ~Outside() { reap_scope_leave(before_); }
        Outside(const Outside &) = delete;
        Outside &operator=(const Outside &) = delete;

      private:
        int before_;
    };

  private:
    size_t number_;
};

} // namespace reap
#endif
