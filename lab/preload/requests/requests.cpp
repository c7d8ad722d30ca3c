/* libreap-requests.so: when did each marked request begin and end?
 *
 * It listens to the marks of reap/mark.h and does nothing else: no allocation is looked at, so that it may be
 * preloaded in runs that are measured. A request costs two readings of the clock and sixteen bytes in a
 * mapped file, which survive whatever the program dies of (lab/format/reap_requests.h). Threads share no lock
 * but when they take a block, once in 4,092 requests and after the end of the request was stamped.
 *
 * Marks look for one listener and find this one, which is preloaded first. Where the recorder is there, too,
 * it is told what this one hears, off the clock.
 *
 * Freestanding C++20: needs libc alone and allocates nothing itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform.h"
#include "reap/mark.h"
#include "reap_requests.h"
#include "reap_trace.h"

namespace {

using namespace reap::preload;

constexpr uint64_t kMost = sizeof(reap_requests_block::requests) / sizeof(reap_request);
static_assert(sizeof(reap_requests_block) == REAP_REQUESTS_BLOCK_BYTES);

struct ThreadState {
    reap_requests_block *block = nullptr;
    uint64_t begin = 0;
    uint64_t depth = 0; // requests within requests; the outermost counts
};
constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

class Process {
  public:
    void start() noexcept;
    [[nodiscard]] bool listens() const noexcept { return file_ != nullptr; }
    // Who would have been found without us; null if nobody.
    [[nodiscard]] const reap_mark_listener *next() const noexcept { return next_; }

    // A block with room for one request at least; null where there is none. About 15 us.
    reap_requests_block *take() noexcept;
    void give_back(reap_requests_block *block) noexcept;

    void lost() const noexcept { __atomic_fetch_add(&file_->lost, 1, __ATOMIC_RELAXED); }
    void unmatched() const noexcept { __atomic_fetch_add(&file_->unmatched, 1, __ATOMIC_RELAXED); }
    void unfinished() const noexcept { __atomic_fetch_add(&file_->unfinished, 1, __ATOMIC_RELAXED); }

    // Whether this is the child of a fork that has not let go of its parent's blocks: it may have been made
    // past the handlers of fork, so the kernel is asked to wipe a page.
    [[nodiscard]] bool is_copy() const noexcept { return alive_ != nullptr && *alive_ == 0; }
    void become_child() noexcept;

    void before_fork() noexcept { lock_.lock(); }
    void after_fork() noexcept { lock_.unlock(); }

  private:
    reap_requests_file *file_ = nullptr;
    const reap_mark_listener *next_ = nullptr;
    reap_requests_block *idle_ = nullptr;
    uint8_t *alive_ = nullptr;
    pthread_key_t thread_end_ = 0;
    FutexLock lock_;
    char path_[4096] = {};
};

constinit Process process;

uint64_t now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

void thread_ended(void *) {
    ThreadState &thread = thread_state;
    if (unlikely(process.is_copy())) process.become_child(); // what the thread held is its parent's
    reap_requests_block *const block = thread.block;
    if (thread.depth != 0) process.unfinished();
    thread = ThreadState{};
    if (block == nullptr) return;
    block->open = 0;
    process.give_back(block);
}

void Process::start() noexcept {
    // Not without the recorder: a search that finds nothing allocates.
    if (getenv(REAP_TRACE_ENV) != nullptr) {
        next_ = static_cast<const reap_mark_listener *>(dlsym(RTLD_NEXT, "reap_mark_listener_1"));
        if (next_ == nullptr) (void)dlerror(); // the program's next one is its own
    }
    const char *path = getenv(REAP_REQUESTS_ENV);
    const size_t length = path != nullptr ? strlen(path) : 0;
    if (length == 0 || length >= sizeof path_) return;
    memcpy(path_, path, length + 1);
    const int descriptor = open_shared(path_);
    if (descriptor < 0) return;
    void *memory =
        mmap(nullptr, sizeof(reap_requests_file), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close_quietly(descriptor);
    if (memory == MAP_FAILED) return;
    auto *file = static_cast<reap_requests_file *>(memory);
    if (file->magic != REAP_REQUESTS_MAGIC || pthread_key_create(&thread_end_, thread_ended) != 0) {
        munmap(memory, sizeof(reap_requests_file));
        return;
    }
    auto *page = static_cast<uint8_t *>(map_private(1));
    if (page != nullptr && madvise(page, 1, MADV_WIPEONFORK) == 0) {
        *page = 1;
        alive_ = page;
    }
    pthread_atfork([] { process.before_fork(); }, [] { process.after_fork(); },
                   [] { process.become_child(); });
    file_ = file;
}

reap_requests_block *Process::take() noexcept {
    const ErrnoGuard keep;
    pthread_setspecific(thread_end_, this); // any value but null has the destructor run
    {
        const LockGuard guard(lock_);
        if (reap_requests_block *const block = idle_) {
            idle_ = reinterpret_cast<reap_requests_block *>(block->link);
            return block;
        }
    }
    if (__atomic_load_n(&file_->next_block, __ATOMIC_RELAXED) >= REAP_REQUESTS_MOST_BLOCKS) return nullptr;
    const int descriptor = open_shared(path_);
    if (descriptor < 0) return nullptr;
    const uint64_t offset =
        __atomic_fetch_add(&file_->next_block, 1, __ATOMIC_RELAXED) * REAP_REQUESTS_BLOCK_BYTES;
    // The space first: writing to a mapped page that the disk has no room for is a SIGBUS.
    void *memory = MAP_FAILED;
    if (allocate_space(descriptor, offset, REAP_REQUESTS_BLOCK_BYTES) == 0) {
        memory = mmap(nullptr, REAP_REQUESTS_BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      descriptor, static_cast<off_t>(offset));
    }
    close_quietly(descriptor);
    if (memory == MAP_FAILED) return nullptr;
    auto *block = static_cast<reap_requests_block *>(memory);
    block->pid = static_cast<uint64_t>(getpid());
    __atomic_store_n(&block->magic, REAP_REQUESTS_BLOCK_MAGIC, __ATOMIC_RELEASE);
    return block;
}

void Process::give_back(reap_requests_block *block) noexcept {
    const ErrnoGuard keep;
    if (block->count == kMost) {
        munmap(block, REAP_REQUESTS_BLOCK_BYTES);
        return;
    }
    const LockGuard guard(lock_);
    block->link = reinterpret_cast<uint64_t>(idle_);
    idle_ = block;
}

void Process::become_child() noexcept {
    lock_.reset();
    idle_ = nullptr;
    thread_state = ThreadState{};
    if (alive_ != nullptr) *alive_ = 1;
}

void request_begin() {
    if (const reap_mark_listener *const next = process.next()) next->request_begin();
    if (unlikely(!process.listens())) return;
    ThreadState &thread = thread_state;
    if (unlikely(process.is_copy())) process.become_child();
    if (thread.depth++ != 0) return;
    if (unlikely(thread.block == nullptr)) thread.block = process.take();
    thread.begin = now();
    if (likely(thread.block != nullptr)) thread.block->open = thread.begin;
}

void time_request() noexcept {
    if (unlikely(!process.listens())) return;
    const uint64_t end = now();
    ThreadState &thread = thread_state;
    if (unlikely(process.is_copy())) process.become_child();
    if (unlikely(thread.depth == 0)) return process.unmatched();
    if (--thread.depth != 0) return;
    reap_requests_block *const block = thread.block;
    if (unlikely(block == nullptr)) return process.lost();
    block->requests[block->count] = {thread.begin, end};
    block->open = 0;
    __atomic_store_n(&block->count, block->count + 1, __ATOMIC_RELEASE);
    if (unlikely(block->count == kMost)) {
        thread.block = nullptr;
        process.give_back(block);
        thread.block = process.take();
    }
}

void request_end() {
    time_request();
    if (const reap_mark_listener *const next = process.next()) next->request_end();
}

void phase(const char *name) {
    if (const reap_mark_listener *const next = process.next()) next->phase(name);
}

void pool_create(const void *pool, const char *name) {
    if (const reap_mark_listener *const next = process.next()) next->pool_create(pool, name);
}

void pool_alloc(const void *pool, const void *object, size_t size) {
    if (const reap_mark_listener *const next = process.next()) next->pool_alloc(pool, object, size);
}

void pool_free(const void *pool, const void *object) {
    if (const reap_mark_listener *const next = process.next()) next->pool_free(pool, object);
}

void pool_clear(const void *pool) {
    if (const reap_mark_listener *const next = process.next()) next->pool_clear(pool);
}

void pool_destroy(const void *pool) {
    if (const reap_mark_listener *const next = process.next()) next->pool_destroy(pool);
}

void pool_rewind(const void *pool, const void *object) {
    if (const reap_mark_listener *const next = process.next()) next->pool_rewind(pool, object);
}

void pool_merge(const void *into, const void *from) {
    if (const reap_mark_listener *const next = process.next()) next->pool_merge(into, from);
}

[[gnu::constructor]] void start() { process.start(); }

} // namespace

// What mark.h looks for.
extern "C" __attribute__((visibility("default"))) const reap_mark_listener reap_mark_listener_1;
const reap_mark_listener reap_mark_listener_1 = {request_begin, request_end, phase,      pool_create,
                                                 pool_alloc,    pool_free,   pool_clear, pool_destroy,
                                                 pool_rewind,   pool_merge};
