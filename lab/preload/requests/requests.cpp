/* libreap-requests.so: records when each marked request begins and ends.
 *
 * It listens to the marks of reap/mark.h and does not interpose any allocation function, so that it can be
 * preloaded in measured runs. A request costs two clock readings and sixteen bytes in a mapped file, which
 * survives a crash of the program (lab/format/reap_requests.h). Threads take a lock only to get a new block:
 * once in 4,092 requests, after the end of the request was stamped.
 *
 * Marks look up one listener and find this one, which is preloaded first. If the recorder is also loaded,
 * marks are forwarded to it, outside the measured time.
 *
 * Freestanding C++20: depends on libc only and allocates nothing itself.
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
#include "thread_end.h"

namespace {

using namespace reap::preload;

constexpr uint64_t kCapacity = sizeof(reap_requests_block::requests) / sizeof(reap_request);
static_assert(sizeof(reap_requests_block) == REAP_REQUESTS_BLOCK_BYTES);

struct ThreadState {
    reap_requests_block *block = nullptr;
    uint64_t begin = 0;
    uint64_t depth = 0; // requests within requests; the outermost counts
};
constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

void thread_ended(void *);

class Process {
  public:
    void start() noexcept;
    [[nodiscard]] bool listens() const noexcept { return file_ != nullptr; }
    // The listener that marks would find without us; null if there is none.
    [[nodiscard]] const reap_mark_listener *next() const noexcept { return next_; }

    // A block with room for at least one request; null on failure. About 15 us.
    reap_requests_block *acquire() noexcept;
    void release(reap_requests_block *block) noexcept;

    void count_lost() const noexcept { __atomic_fetch_add(&file_->lost, 1, __ATOMIC_RELAXED); }
    void count_unmatched() const noexcept { __atomic_fetch_add(&file_->unmatched, 1, __ATOMIC_RELAXED); }
    void count_unfinished() const noexcept { __atomic_fetch_add(&file_->unfinished, 1, __ATOMIC_RELAXED); }

    // Whether this is the child of a fork that still has its parent's blocks, because the fork bypassed the
    // handlers. Detected by a page that the kernel wipes on fork.
    [[nodiscard]] bool is_copy() const noexcept { return alive_ != nullptr && *alive_ == 0; }
    void after_fork_in_child() noexcept;

    void before_fork() noexcept { lock_.lock(); }
    void after_fork() noexcept { lock_.unlock(); }

  private:
    reap_requests_file *file_ = nullptr;
    const reap_mark_listener *next_ = nullptr;
    reap_requests_block *idle_ = nullptr;
    uint8_t *alive_ = nullptr;
    ThreadEnd thread_end_{thread_ended};
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
    if (unlikely(process.is_copy())) process.after_fork_in_child(); // the block belongs to the parent
    reap_requests_block *const block = thread.block;
    if (thread.depth != 0) process.count_unfinished();
    thread = ThreadState{};
    if (block == nullptr) return;
    block->open = 0;
    process.release(block);
}

void Process::start() noexcept {
    // Only with the recorder: a dlsym that fails allocates.
    if (getenv(REAP_TRACE_ENV) != nullptr) {
        next_ = static_cast<const reap_mark_listener *>(dlsym(RTLD_NEXT, "reap_mark_listener_1"));
        if (next_ == nullptr) (void)dlerror(); // so that the program does not see our error
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
    if (file->magic != REAP_REQUESTS_MAGIC) {
        munmap(memory, sizeof(reap_requests_file));
        return;
    }
    auto *page = static_cast<uint8_t *>(map_private(1));
    if (page != nullptr && madvise(page, 1, MADV_WIPEONFORK) == 0) {
        *page = 1;
        alive_ = page;
    }
    thread_end_.prepare();
    pthread_atfork([] { process.before_fork(); }, [] { process.after_fork(); },
                   [] { process.after_fork_in_child(); });
    file_ = file;
}

reap_requests_block *Process::acquire() noexcept {
    const ErrnoGuard keep;
    thread_end_.expect(this);
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
    // Allocates the space first: writing to a mapped page on a full disk raises SIGBUS.
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

void Process::release(reap_requests_block *block) noexcept {
    const ErrnoGuard keep;
    if (block->count == kCapacity) {
        munmap(block, REAP_REQUESTS_BLOCK_BYTES);
        return;
    }
    const LockGuard guard(lock_);
    block->link = reinterpret_cast<uint64_t>(idle_);
    idle_ = block;
}

void Process::after_fork_in_child() noexcept {
    lock_.reset();
    idle_ = nullptr;
    thread_state = ThreadState{};
    if (alive_ != nullptr) *alive_ = 1;
}

void request_begin() {
    if (const reap_mark_listener *const next = process.next()) next->request_begin();
    if (unlikely(!process.listens())) return;
    ThreadState &thread = thread_state;
    if (unlikely(process.is_copy())) process.after_fork_in_child();
    if (thread.depth++ != 0) return;
    if (unlikely(thread.block == nullptr)) thread.block = process.acquire();
    thread.begin = now();
    if (likely(thread.block != nullptr)) thread.block->open = thread.begin;
}

void time_request() noexcept {
    if (unlikely(!process.listens())) return;
    const uint64_t end = now();
    ThreadState &thread = thread_state;
    if (unlikely(process.is_copy())) process.after_fork_in_child();
    if (unlikely(thread.depth == 0)) return process.count_unmatched();
    if (--thread.depth != 0) return;
    reap_requests_block *const block = thread.block;
    if (unlikely(block == nullptr)) return process.count_lost();
    block->requests[block->count] = {thread.begin, end};
    block->open = 0;
    __atomic_store_n(&block->count, block->count + 1, __ATOMIC_RELEASE);
    if (unlikely(block->count == kCapacity)) {
        thread.block = nullptr;
        process.release(block);
        thread.block = process.acquire();
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

// Looked up by mark.h.
extern "C" __attribute__((visibility("default"))) const reap_mark_listener reap_mark_listener_1;
const reap_mark_listener reap_mark_listener_1 = {request_begin, request_end, phase,      pool_create,
                                                 pool_alloc,    pool_free,   pool_clear, pool_destroy,
                                                 pool_rewind,   pool_merge};
