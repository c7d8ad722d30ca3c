/* Marks: a program says where its requests begin and end, which phase it is in, and what its pools hand out.
 *
 * SPDX-License-Identifier: MIT
 *
 * Marks measure nothing and change nothing. They speak to a listener, if the process has one: an object that
 * exports the table `reap_mark_listener_1`, as reap's preloads do. Without one a mark is a load, a comparison
 * and a branch that is not taken (less than a nanosecond); with one it is a call.
 *
 *     reap_mark_request_begin();
 *     answer(connection);
 *     reap_mark_request_end();
 *
 * A request belongs to the thread that begins it and ends in that thread. Of requests within requests the
 * outermost counts; an end without a begin is ignored, and so is a request that has not ended when its thread
 * or the process does. After fork the request goes on in the parent; the child is in none.
 *
 * C99 and C++17, a header alone: nothing is to be linked. Where a program is linked statically, or for
 * another system than one with ELF and GNU C, marks compile and do nothing. Any thread may mark at any time,
 * but not in a signal handler.
 */
#ifndef REAP_MARK_H
#define REAP_MARK_H

#include <stddef.h>
#include <stdint.h>

#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
#include <valgrind/valgrind.h>
/* The requests of Reap's own tool. Every other tool passes them over. */
#define REAP_MARK_REWIND (VG_USERREQ_TOOL_BASE('R', 'D') + 0) /* pool, object */
#define REAP_MARK_MERGE (VG_USERREQ_TOOL_BASE('R', 'D') + 1)  /* into, from */
#endif

/* NOLINTBEGIN(modernize-redundant-void-arg,modernize-use-nullptr): C has no other words. */
#ifdef __cplusplus
extern "C" {
#endif

/* What a listener exports under the name reap_mark_listener_1. It has every function; those of pools are
 * given addresses that they must not follow. A later table gets a later number. */
struct reap_mark_listener {
    void (*request_begin)(void);
    void (*request_end)(void);
    void (*phase)(const char *name);
    void (*pool_create)(const void *pool, const char *name);
    void (*pool_alloc)(const void *pool, const void *object, size_t size);
    void (*pool_free)(const void *pool, const void *object);
    void (*pool_clear)(const void *pool);
    void (*pool_destroy)(const void *pool);
    void (*pool_rewind)(const void *pool, const void *object);
    void (*pool_merge)(const void *into, const void *from);
};

#if defined(__GNUC__) && defined(__ELF__)

/* 1: not looked for yet; 0: nothing listens; else where the table is. One for each program or library that
 * marks. */
extern uintptr_t reap_mark_state;
__attribute__((weak, visibility("hidden"))) uintptr_t reap_mark_state = 1;

/* By a weak reference of its own name: a static program has no dlsym and needs none, and the references that
 * the program itself makes to dlsym stay as they are. (A weak reference to the table would not do: in a
 * program that is not position-independent the linker binds it to nothing.) */
static void *reap_mark_dlsym(void *, const char *) __attribute__((weakref("dlsym"), unused));
static char *reap_mark_dlerror(void) __attribute__((weakref("dlerror"), unused));

/* Looks once. Threads that come together find the same. */
__attribute__((cold, noinline, unused)) static const struct reap_mark_listener *reap_mark_look(void) {
    void *found = NULL;
    if (reap_mark_dlsym && reap_mark_dlerror) {
        found = reap_mark_dlsym(NULL /* RTLD_DEFAULT */, "reap_mark_listener_1");
        /* What failed here is not for the program's next dlerror. */
        if (!found) (void)reap_mark_dlerror();
    }
    __atomic_store_n(&reap_mark_state, (uintptr_t)found, __ATOMIC_RELEASE);
    return (const struct reap_mark_listener *)found;
}

/* Who listens; null if nobody does. */
__attribute__((always_inline)) static inline const struct reap_mark_listener *reap_mark_listening(void) {
    const uintptr_t state = __atomic_load_n(&reap_mark_state, __ATOMIC_ACQUIRE);
    if (__builtin_expect(state == 0, 1)) return NULL;
    return state == 1 ? reap_mark_look() : (const struct reap_mark_listener *)state;
}

#else

static inline const struct reap_mark_listener *reap_mark_listening(void) { return NULL; }

#endif

/* From here on this thread works on a request. */
static inline void reap_mark_request_begin(void) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->request_begin();
}

/* The request is answered. */
static inline void reap_mark_request_end(void) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->request_end();
}

/* The process is in the phase `name` from here on, all threads of it. A request belongs to the phase that it
 * begins in. Names are cut after 63 bytes and copied; of a process's phases the first 32 are told apart. NULL
 * or "": in none. */
static inline void reap_mark_phase(const char *name) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->phase(name);
}

/* Pools and regions: whoever takes memory in bulk and hands out objects of it says so, to be seen object by
 * object. `pool` is any address that stands for it while it lives. Where REAP_MARK_VALGRIND is 1, valgrind is
 * told, too, as its VALGRIND_MEMPOOL_ requests have it; a pool that tells valgrind itself leaves it 0. The
 * two that it has no request for, only Reap's own tool hears. */

/* A pool begins. `name` says which kind of pool it is, such as "per request"; it is copied. */
static inline void reap_mark_pool_create(const void *pool, const char *name) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_create(pool, name);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
#endif
}

/* The pool hands out `size` bytes at `object`; said before they are written to. */
static inline void reap_mark_pool_alloc(const void *pool, const void *object, size_t size) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_alloc(pool, object, size);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_MEMPOOL_ALLOC(pool, object, size);
#endif
}

/* One object comes back. */
static inline void reap_mark_pool_free(const void *pool, const void *object) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_free(pool, object);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_MEMPOOL_FREE(pool, object);
#endif
}

/* All objects come back at once, and the pool goes on: a region's reset. */
static inline void reap_mark_pool_clear(const void *pool) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_clear(pool);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_MEMPOOL_TRIM(pool, pool, 0);
#endif
}

/* The pool ends, and with it the objects that it still has. */
static inline void reap_mark_pool_destroy(const void *pool) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_destroy(pool);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_DESTROY_MEMPOOL(pool);
#endif
}

/* `object` comes back, and all that this pool handed out after it: a stack is cut, a savepoint restored. */
static inline void reap_mark_pool_rewind(const void *pool, const void *object) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_rewind(pool, object);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_DO_CLIENT_REQUEST_STMT(REAP_MARK_REWIND, pool, object, 0, 0, 0);
#endif
}

/* What `from` has handed out is `into`'s from here on, and goes with that. Both live on. */
static inline void reap_mark_pool_merge(const void *into, const void *from) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_merge(into, from);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_DO_CLIENT_REQUEST_STMT(REAP_MARK_MERGE, into, from, 0, 0, 0);
#endif
}

#ifdef __cplusplus
}
/* NOLINTEND(modernize-redundant-void-arg,modernize-use-nullptr) */

namespace reap::mark {

/* A request as long as a scope, however it is left. */
class Request {
  public:
    Request() noexcept { reap_mark_request_begin(); }
    ~Request() { reap_mark_request_end(); }
    Request(const Request &) = delete;
    Request &operator=(const Request &) = delete;
};

} // namespace reap::mark
#endif

#endif
