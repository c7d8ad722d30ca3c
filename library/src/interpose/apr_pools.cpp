// libreap-apr.so: APR's pools implemented by reaps, to be preloaded into programs that are not rebuilt. Every
// function of apr_pools.h, and ap_pfree().
//
// The same threading rules as APR's: each pool is used by one thread at a time, parents and children possibly
// by different ones.
//
// REAP_POOL_MEMORY names a header with another PoolMemory in place of the reap: this is how a workload
// disables these pools.

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <new>
#include <utility>

#include <apr_allocator.h>
#include <apr_hash.h>
#include <apr_pools.h>
#include <apr_strings.h>
#include <apr_thread_mutex.h>
#include <apr_thread_proc.h>
#include <apr_time.h>

#include "reap/interpose/ap_pfree.h"
#ifdef REAP_POOL_MEMORY
#include REAP_POOL_MEMORY
#else
#include "reap/layer/reap.h"
#endif

#undef apr_pcalloc // a macro over apr_palloc(), and a function

namespace {

#ifndef REAP_POOL_MEMORY
/// The memory of a pool.
class PoolMemory {
  public:
    [[nodiscard]] void *try_allocate(std::size_t size) noexcept { return reap_.try_allocate(size); }
    void deallocate(void *object) noexcept { reap_.deallocate(object); }
    void clear() noexcept { reap_.reset(kept); }
    [[nodiscard]] std::size_t held() const noexcept { return reap_.statistics().held; }

  private:
    static constexpr std::size_t kept = std::size_t{8} << 10; // as APR: a cleared pool keeps its first block
    reap::Reap<> reap_;
};
#endif

using Run = apr_status_t (*)(void *);

struct Cleanup {
    Cleanup *next;
    const void *data;
    Run plain, child;
};

struct Process {
    Process *next;
    apr_proc_t *process;
    apr_kill_conditions_e how;
};

} // namespace

/// A type that APR declares and does not define.
struct apr_pool_t {
    apr_pool_t *parent = nullptr, *child = nullptr, *sibling = nullptr, **self = nullptr;
    Cleanup *cleanups = nullptr, *before = nullptr, *free = nullptr;
    Process *processes = nullptr;
    apr_allocator_t *allocator = nullptr;
    apr_abortfunc_t abort = nullptr;
    apr_hash_t *user_data = nullptr;
    PoolMemory memory;
};

namespace {

apr_pool_t *top = nullptr; // of all pools that have no other parent
int initialized = 0;
std::mutex links; // between parents and children

/// APR's function that one of ours replaces. Null if there is none.
template <class Function>
Function *next(const char *name) {
    return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

void run_all(apr_pool_t &pool, Cleanup *apr_pool_t::*list) {
    // A cleanup may register others.
    while (Cleanup *const each = pool.*list) {
        pool.*list = each->next;
        each->plain(const_cast<void *>(each->data));
    }
}

/// With the grace periods of the conditions, for all processes at once, so that they end together.
void end_processes(Process *const first) {
    bool patient = false;
    for (const Process *each = first; each != nullptr; each = each->next) {
        if (each->how == APR_KILL_ALWAYS) apr_proc_kill(each->process, SIGKILL);
        if (each->how == APR_KILL_AFTER_TIMEOUT || each->how == APR_KILL_ONLY_ONCE)
            apr_proc_kill(each->process, SIGTERM);
        patient |= each->how == APR_KILL_AFTER_TIMEOUT;
    }
    if (patient) {
        constexpr int tries = 30;
        bool living = true;
        for (int n = 0; living && n < tries; ++n) {
            living = false;
            for (Process *each = first; each != nullptr; each = each->next) {
                if (each->how != APR_KILL_AFTER_TIMEOUT) continue;
                if (apr_proc_wait(each->process, nullptr, nullptr, APR_NOWAIT) == APR_CHILD_NOTDONE)
                    living = true;
                else
                    each->how = APR_KILL_NEVER;
            }
            if (living) apr_sleep(apr_time_from_sec(3) / tries);
        }
        for (const Process *each = first; each != nullptr; each = each->next)
            if (each->how == APR_KILL_AFTER_TIMEOUT) apr_proc_kill(each->process, SIGKILL);
    }
    for (const Process *each = first; each != nullptr; each = each->next)
        if (each->how != APR_KILL_NEVER) apr_proc_wait(each->process, nullptr, nullptr, APR_WAIT);
}

void unlink(const apr_pool_t &pool) {
    if (pool.self == nullptr) return;
    const std::scoped_lock lock(links);
    *pool.self = pool.sibling;
    if (pool.sibling != nullptr) pool.sibling->self = pool.self;
}

/// Ends everything that the pool holds except its memory.
void finish(apr_pool_t &pool) {
    run_all(pool, &apr_pool_t::before);
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a child takes itself off the list, which is not seen
    while (pool.child != nullptr) apr_pool_destroy(pool.child);
    run_all(pool, &apr_pool_t::cleanups);
    end_processes(std::exchange(pool.processes, nullptr));
    pool.free = nullptr;
    pool.user_data = nullptr;
}

apr_status_t create(apr_pool_t **made, apr_pool_t *parent, apr_abortfunc_t abort,
                    apr_allocator_t *allocator) {
    void *const place = std::malloc(sizeof(apr_pool_t));
    if (place == nullptr) {
        if (abort != nullptr) abort(APR_ENOMEM);
        return APR_ENOMEM;
    }
    auto *const pool = ::new (place) apr_pool_t;
    pool->abort = abort;
    pool->allocator = allocator;
    if (parent != nullptr) {
        pool->parent = parent;
        const std::scoped_lock lock(links);
        pool->sibling = parent->child;
        if (pool->sibling != nullptr) pool->sibling->self = &pool->sibling;
        parent->child = pool;
        pool->self = &parent->child;
    }
    *made = pool;
    return APR_SUCCESS;
}

Cleanup *place_for(apr_pool_t *pool) {
    if (Cleanup *const old = pool->free) {
        pool->free = old->next;
        return old;
    }
    return static_cast<Cleanup *>(apr_palloc(pool, sizeof(Cleanup)));
}

/// The first of the list with this data and function, unlinked and put where it may be reused.
void take_off(apr_pool_t *pool, Cleanup **list, const void *data, Run run) {
    for (; *list != nullptr; list = &(*list)->next) {
        Cleanup *const found = *list;
        if (found->data != data || found->plain != run) continue;
        *list = found->next;
        found->next = pool->free;
        pool->free = found;
        return;
    }
}

void for_exec(apr_pool_t *pool) {
    for (; pool != nullptr; pool = pool->sibling) {
        while (Cleanup *const each = pool->cleanups) {
            pool->cleanups = each->next;
            each->child(const_cast<void *>(each->data));
        }
        for_exec(pool->child);
    }
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

// Calls APR's own as well: its allocators, from which buckets are requested, do not work before it.
apr_status_t apr_pool_initialize() {
    if (initialized++ > 0) return APR_SUCCESS;
    if (const auto own = next<apr_status_t()>("apr_pool_initialize")) {
        if (const apr_status_t failed = own(); failed != APR_SUCCESS) return failed;
    }
    apr_allocator_t *allocator = nullptr;
    if (const apr_status_t failed = apr_allocator_create(&allocator); failed != APR_SUCCESS) return failed;
    if (const apr_status_t failed = create(&top, nullptr, nullptr, allocator); failed != APR_SUCCESS)
        return failed;
    apr_allocator_owner_set(allocator, top);
    apr_thread_mutex_t *mutex = nullptr; // pools that have no allocator of their own share this one
    const apr_status_t status = apr_thread_mutex_create(&mutex, APR_THREAD_MUTEX_DEFAULT, top);
    apr_allocator_mutex_set(allocator, mutex);
    return status;
}

void apr_pool_terminate() {
    if (initialized == 0) return;
    --initialized;
    if (initialized > 0) return;
    apr_allocator_mutex_set(top->allocator, nullptr);
    apr_pool_destroy(top);
    top = nullptr;
    if (const auto own = next<void()>("apr_pool_terminate")) own();
}

apr_status_t apr_pool_create_ex(apr_pool_t **made, apr_pool_t *parent, apr_abortfunc_t abort,
                                apr_allocator_t *allocator) {
    if (parent == nullptr) parent = top;
    if (abort == nullptr && parent != nullptr) abort = parent->abort;
    if (allocator == nullptr && parent != nullptr) allocator = parent->allocator;
    return create(made, parent, abort, allocator);
}

apr_status_t apr_pool_create_unmanaged_ex(apr_pool_t **made, apr_abortfunc_t abort,
                                          apr_allocator_t *allocator) {
    const bool own = allocator == nullptr;
    if (own) {
        if (const apr_status_t failed = apr_allocator_create(&allocator); failed != APR_SUCCESS)
            return failed;
    }
    const apr_status_t status = create(made, nullptr, abort, allocator);
    if (own && status == APR_SUCCESS) apr_allocator_owner_set(allocator, *made);
    return status;
}

apr_status_t apr_pool_create_core_ex(apr_pool_t **made, apr_abortfunc_t abort, apr_allocator_t *allocator) {
    return apr_pool_create_unmanaged_ex(made, abort, allocator);
}

apr_allocator_t *apr_pool_allocator_get(apr_pool_t *pool) { return pool->allocator; }

void apr_pool_clear(apr_pool_t *pool) {
    finish(*pool);
    pool->memory.clear();
}

void apr_pool_destroy(apr_pool_t *pool) {
    finish(*pool);
    unlink(*pool);
    apr_allocator_t *const allocator = pool->allocator;
    const bool owner = allocator != nullptr && apr_allocator_owner_get(allocator) == pool;
    pool->~apr_pool_t();
    std::free(pool);
    if (owner) apr_allocator_destroy(allocator);
}

void *apr_palloc(apr_pool_t *pool, apr_size_t size) {
    void *const object = pool->memory.try_allocate(size);
    if (object == nullptr && pool->abort != nullptr) pool->abort(APR_ENOMEM);
    return object;
}

void *apr_pcalloc(apr_pool_t *pool, apr_size_t size) {
    void *const object = apr_palloc(pool, size);
    return object == nullptr ? nullptr : std::memset(object, 0, size);
}

void ap_pfree(apr_pool_t *pool, void *object) { pool->memory.deallocate(object); }

// Only in APR's debug builds. What is held for objects, chunks included.
apr_size_t apr_pool_num_bytes(apr_pool_t *pool, int recurse) {
    apr_size_t held = pool->memory.held();
    if (recurse != 0)
        for (apr_pool_t *child = pool->child; child != nullptr; child = child->sibling)
            held += apr_pool_num_bytes(child, recurse);
    return held;
}

void apr_pool_abort_set(apr_abortfunc_t abort, apr_pool_t *pool) { pool->abort = abort; }
apr_abortfunc_t apr_pool_abort_get(apr_pool_t *pool) { return pool->abort; }

apr_pool_t *apr_pool_parent_get(apr_pool_t *pool) { return pool->parent; }

int apr_pool_is_ancestor(apr_pool_t *older, apr_pool_t *pool) {
    if (older == nullptr) return 1;
    while (pool != nullptr && pool != older) pool = pool->parent;
    return pool == older ? 1 : 0;
}

void apr_pool_tag(apr_pool_t * /*pool*/, const char * /*tag*/) {}

apr_status_t apr_pool_userdata_setn(const void *data, const char *key, Run cleanup, apr_pool_t *pool) {
    if (pool->user_data == nullptr) pool->user_data = apr_hash_make(pool);
    apr_hash_set(pool->user_data, key, APR_HASH_KEY_STRING, data);
    if (cleanup != nullptr) apr_pool_cleanup_register(pool, data, cleanup, cleanup);
    return APR_SUCCESS;
}

apr_status_t apr_pool_userdata_set(const void *data, const char *key, Run cleanup, apr_pool_t *pool) {
    const bool known =
        pool->user_data != nullptr && apr_hash_get(pool->user_data, key, APR_HASH_KEY_STRING) != nullptr;
    return apr_pool_userdata_setn(data, known ? key : apr_pstrdup(pool, key), cleanup, pool);
}

apr_status_t apr_pool_userdata_get(void **data, const char *key, apr_pool_t *pool) {
    *data = pool->user_data == nullptr ? nullptr : apr_hash_get(pool->user_data, key, APR_HASH_KEY_STRING);
    return APR_SUCCESS;
}

void apr_pool_cleanup_register(apr_pool_t *pool, const void *data, Run plain, Run child) {
    if (pool == nullptr) return;
    Cleanup *const made = place_for(pool);
    *made = {pool->cleanups, data, plain, child};
    pool->cleanups = made;
}

void apr_pool_pre_cleanup_register(apr_pool_t *pool, const void *data, Run plain) {
    if (pool == nullptr) return;
    Cleanup *const made = place_for(pool);
    *made = {pool->before, data, plain, nullptr};
    pool->before = made;
}

void apr_pool_cleanup_kill(apr_pool_t *pool, const void *data, Run run) {
    if (pool == nullptr) return;
    take_off(pool, &pool->cleanups, data, run);
    take_off(pool, &pool->before, data, run); // a function may be on both lists
}

void apr_pool_child_cleanup_set(apr_pool_t *pool, const void *data, Run plain, Run child) {
    if (pool == nullptr) return;
    for (Cleanup *each = pool->cleanups; each != nullptr; each = each->next)
        if (each->data == data && each->plain == plain) {
            each->child = child;
            return;
        }
}

apr_status_t apr_pool_cleanup_run(apr_pool_t *pool, void *data, Run run) {
    apr_pool_cleanup_kill(pool, data, run);
    return run(data);
}

apr_status_t apr_pool_cleanup_null(void * /*data*/) { return APR_SUCCESS; }

void apr_pool_cleanup_for_exec() { for_exec(top); }

void apr_pool_note_subprocess(apr_pool_t *pool, apr_proc_t *process, apr_kill_conditions_e how) {
    auto *const made = static_cast<Process *>(apr_palloc(pool, sizeof(Process)));
    *made = {pool->processes, process, how};
    pool->processes = made;
}

char *apr_pvsprintf(apr_pool_t *pool, const char *format, va_list words) {
    // APR's own formatter, which supports more than C's; it returns -1 if the room is too small.
    std::array<char, 1024> small;
    char *room = small.data();
    std::size_t size = small.size();
    char *text = nullptr;
    for (;;) {
        va_list again;
        va_copy(again, words);
        const int length = apr_vsnprintf(room, size, format, again);
        va_end(again);
        if (length >= 0 && static_cast<std::size_t>(length) < size - 1) {
            text = static_cast<char *>(apr_palloc(pool, static_cast<std::size_t>(length) + 1));
            if (text != nullptr) std::memcpy(text, room, static_cast<std::size_t>(length) + 1);
            break;
        }
        size *= 2;
        if (room != small.data()) std::free(room);
        room = static_cast<char *>(std::malloc(size));
        if (room == nullptr) {
            if (pool->abort != nullptr) pool->abort(APR_ENOMEM);
            return nullptr;
        }
    }
    if (room != small.data()) std::free(room);
    return text;
}

char *apr_psprintf(apr_pool_t *pool, const char *format, ...) {
    va_list words;
    va_start(words, format);
    char *const text = apr_pvsprintf(pool, format, words);
    va_end(words);
    return text;
}

} // extern "C"
#pragma GCC visibility pop
