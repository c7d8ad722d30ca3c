/* Marks: a program reports where its requests begin and end, which phase it is in, and what its pools
 * allocate.
 *
 * SPDX-License-Identifier: MIT
 *
 * Marks measure nothing and change nothing. They call a listener, if the process has one: a loaded object
 * that exports the table `reap_mark_listener_1`, as reap's preloads do. Without one a mark is a load, a
 * comparison and a branch that is not taken (less than a nanosecond); with one it is a call.
 *
 *     reap_mark_request_begin();
 *     answer(connection);
 *     reap_mark_request_end();
 *
 * A request belongs to the thread that begins it and ends in that thread. Of nested requests the outermost
 * counts; an end without a begin is ignored, and so is a request that has not ended when its thread or the
 * process does. After fork the request continues in the parent; the child is in none.
 *
 * C99 and C++17, header-only: nothing needs to be linked. In statically linked programs, and on systems
 * without ELF and GNU C, marks compile and do nothing. Any thread may mark at any time, but not in a signal
 * handler.
 */
#ifndef REAP_MARK_H
#define REAP_MARK_H

#include <stddef.h>
#include <stdint.h>

#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
#include <valgrind/valgrind.h>
/* The requests of Reap's own tool. Every other tool ignores them. */
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

/* 1: not looked up yet; 0: no listener; otherwise the address of the table. One for each program or library
 * that marks. */
extern uintptr_t reap_mark_state;
__attribute__((weak, visibility("hidden"))) uintptr_t reap_mark_state = 1;

/* By a weak reference of its own name: a static program has no dlsym and needs none, and the references that
 * the program itself makes to dlsym stay as they are. (A weak reference to the table would not do: in a
 * program that is not position-independent the linker binds it to nothing.) */
static void *reap_mark_dlsym(void *, const char *) __attribute__((weakref("dlsym"), unused));
static char *reap_mark_dlerror(void) __attribute__((weakref("dlerror"), unused));

/* Looks up once. Concurrent threads find the same. */
__attribute__((cold, noinline, unused)) static const struct reap_mark_listener *reap_mark_look(void) {
    void *found = NULL;
    if (reap_mark_dlsym && reap_mark_dlerror) {
        found = reap_mark_dlsym(NULL /* RTLD_DEFAULT */, "reap_mark_listener_1");
        /* A failure here must not show up in the program's next dlerror. */
        if (!found) (void)reap_mark_dlerror();
    }
    __atomic_store_n(&reap_mark_state, (uintptr_t)found, __ATOMIC_RELEASE);
    return (const struct reap_mark_listener *)found;
}

/* The listener; null if there is none. */
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

/* From here on the process, with all its threads, is in the phase `name`. A request belongs to the phase that
 * it begins in. Names are copied and truncated to 63 bytes; the first 32 phases of a process are
 * distinguished. NULL or "": no phase. */
static inline void reap_mark_phase(const char *name) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->phase(name);
}

/* Pools and regions: an allocator that takes memory in bulk and allocates objects from it reports them, so
 * that tools see each object. `pool` is any address that identifies it while it lives. If REAP_MARK_VALGRIND
 * is 1, they are also reported to valgrind, by its VALGRIND_MEMPOOL_ requests; a pool that does so itself
 * leaves it 0. The two marks without such a request are received only by Reap's own tool. */

/* A pool begins. `name` is the kind of pool, such as "per request"; it is copied. */
static inline void reap_mark_pool_create(const void *pool, const char *name) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_create(pool, name);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
#endif
}

/* The pool allocates `size` bytes at `object`; call it before they are written to. */
static inline void reap_mark_pool_alloc(const void *pool, const void *object, size_t size) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_alloc(pool, object, size);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_MEMPOOL_ALLOC(pool, object, size);
#endif
}

/* One object is freed. */
static inline void reap_mark_pool_free(const void *pool, const void *object) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_free(pool, object);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_MEMPOOL_FREE(pool, object);
#endif
}

/* All objects are freed at once, and the pool goes on: a region's reset. */
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

/* `object` is freed, and all that this pool allocated after it: a stack is unwound, a savepoint restored. */
static inline void reap_mark_pool_rewind(const void *pool, const void *object) {
    const struct reap_mark_listener *const listener = reap_mark_listening();
    if (listener) listener->pool_rewind(pool, object);
#if defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
    VALGRIND_DO_CLIENT_REQUEST_STMT(REAP_MARK_REWIND, pool, object, 0, 0, 0);
#endif
}

/* The objects of `from` belong to `into` from here on, and end with it. Both live on. */
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

/* A request that lasts as long as a scope, however it is left. */
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
