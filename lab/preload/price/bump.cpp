// libreap-price-bump.so: a malloc that adds to a pointer, in memory that was touched before, and a free that
// does nothing. When memory ends, and for large blocks, it recycles.
#include <algorithm>
#include <cstdint>

#include "recycling.h"

namespace reap::preload {

constinit const bool kShadowed = false;

namespace {

// Larger blocks are recycled.
constexpr size_t kLargestBumped = 8192;

// A thread's first chunk, and its largest. Small enough that what was just touched is in the CPU's cache, as
// recycled memory would be.
constexpr size_t kFirstChunk = kGranule;
constexpr size_t kLargestChunk = kGranule * 4;

constexpr size_t kHeader = sizeof(size_t); // the usable size, before each block
constexpr size_t kAlignment = 16;

struct Bump {
    char *next; // a header's place; never aligned to 16
    char *end;
    size_t chunk; // bytes of the thread's next chunk
    bool watched;
};

constinit thread_local Bump bump __attribute__((tls_model("initial-exec"))){};

// The rest of a chunk whose thread has ended, at its beginning.
struct Rest {
    Rest *next;
    char *end;
};

class Chunks {
  public:
    // A place for a thread to bump in, with room for `bytes`; false if memory has ended.
    bool take(Bump &thread, size_t bytes) noexcept;
    void thread_ended() noexcept;
    void start() noexcept;

    [[nodiscard]] bool contains(const void *pointer) const noexcept { return region_.contains(pointer); }

    void lock() noexcept {
        lock_.lock();
        region_.lock().lock();
    }
    void unlock() noexcept {
        region_.lock().unlock();
        lock_.unlock();
    }
    // The rest of the chunk is shared with the parent of a fork: writing to it would copy pages.
    void after_fork_in_child() noexcept {
        unlock();
        rests_ = nullptr;
        bump.next = bump.end = nullptr;
    }

  private:
    bool adopt(Bump &thread, size_t bytes) noexcept;

    Region region_;
    Rest *rests_ = nullptr; // guarded by:
    FutexLock lock_;
    bool reserved_ = false; // guarded by the lock
    bool over_ = false;     // (atomic) memory has ended
    pthread_key_t key_ = 0;
    bool watches_ = false;
};

constinit Chunks chunks;

void set(Bump &thread, char *begin, char *end) noexcept {
    thread.next = begin;
    thread.end = end;
}

bool Chunks::adopt(Bump &thread, size_t bytes) noexcept {
    const LockGuard guard(lock_);
    if (!reserved_) {
        reserved_ = true;
        region_.reserve(most_bytes());
    }
    Rest *const rest = rests_;
    if (rest == nullptr || static_cast<size_t>(rest->end - reinterpret_cast<char *>(rest)) < bytes) {
        return false;
    }
    rests_ = rest->next;
    set(thread, reinterpret_cast<char *>(rest), rest->end);
    return true;
}

bool Chunks::take(Bump &thread, size_t bytes) noexcept {
    const ErrnoGuard keep;
    if (__atomic_load_n(&over_, __ATOMIC_RELAXED)) return false;
    if (watches_ && !thread.watched) {
        thread.watched = true;
        pthread_setspecific(key_, this); // may allocate
        if (static_cast<size_t>(thread.end - thread.next) >= bytes) return true;
    }
    if (adopt(thread, bytes)) return true;
    const size_t wanted = std::max(thread.chunk, kFirstChunk);
    auto *const memory = static_cast<char *>(region_.take(wanted));
    if (memory == nullptr) {
        __atomic_store_n(&over_, true, __ATOMIC_RELAXED);
        report_end();
        return false;
    }
    touch_ahead(memory, wanted);
    thread.chunk = std::min(wanted * 2, kLargestChunk);
    set(thread, memory + kAlignment - kHeader, memory + wanted);
    return true;
}

// Where a thread allocates after this it has a new chunk, or another's rest, and ends again.
void Chunks::thread_ended() noexcept {
    Bump &thread = bump;
    thread.watched = false;
    auto *const rest = reinterpret_cast<Rest *>(thread.next);
    if (static_cast<size_t>(thread.end - thread.next) < kAlignment * 2) return;
    const LockGuard guard(lock_);
    *rest = {rests_, thread.end};
    rests_ = rest;
    set(thread, nullptr, nullptr);
}

void Chunks::start() noexcept {
    watches_ = pthread_key_create(&key_, [](void *) { chunks.thread_ended(); }) == 0;
    if (bump.next != nullptr) pthread_setspecific(key_, this);
}

size_t &header_of(void *block) noexcept { return *(static_cast<size_t *>(block) - 1); }

void *allocate_at(Bump &thread, size_t bytes) noexcept {
    char *const header = thread.next;
    thread.next = header + bytes;
    char *const block = header + kHeader;
    header_of(block) = bytes - kHeader;
    return block;
}

bool has_room(const Bump &thread, size_t bytes) noexcept {
    return static_cast<size_t>(thread.end - thread.next) >= bytes;
}

// Header and block of `size` bytes, so that the next header is in its place, too.
size_t bytes_for(size_t size) noexcept {
    return std::max((size + kHeader + kAlignment - 1) & ~(kAlignment - 1), kAlignment * 2);
}

REAP_COLD void *allocate_slow(size_t size) noexcept {
    const size_t bytes = bytes_for(size);
    if (size > kLargestBumped || !chunks.take(bump, bytes)) return Recycling::allocate(size);
    return allocate_at(bump, bytes);
}

} // namespace

struct Own {
    static void *allocate(size_t size) noexcept {
        const size_t bytes = bytes_for(size);
        Bump &thread = bump;
        if (unlikely(size > kLargestBumped || !has_room(thread, bytes))) return allocate_slow(size);
        return allocate_at(thread, bytes);
    }

    // Memory is zero until it is bumped over, but for the words of a `Rest`.
    static void *allocate_zeroed(size_t size) noexcept {
        if (size > kLargestBumped) return Recycling::allocate_zeroed(size);
        void *const block = allocate(size);
        return block != nullptr ? memset(block, 0, size) : nullptr;
    }

    static void *allocate_aligned(size_t alignment, size_t size) noexcept {
        if (alignment + size > kLargestBumped) return Recycling::allocate_aligned(alignment, size);
        void *const block = allocate(alignment + size);
        if (block == nullptr || !chunks.contains(block)) {
            release(block);
            return Recycling::allocate_aligned(alignment, size);
        }
        const auto address = reinterpret_cast<uintptr_t>(block);
        const size_t skipped = ((address + alignment - 1) & ~(alignment - 1)) - address;
        const size_t usable = header_of(block) - skipped;
        void *const inner = static_cast<char *>(block) + skipped;
        header_of(inner) = usable;
        return inner;
    }

    static void release(void *pointer) noexcept {
        if (likely(chunks.contains(pointer))) return;
        Recycling::release(pointer);
    }

    static size_t usable(void *pointer) noexcept {
        return chunks.contains(pointer) ? header_of(pointer) : Recycling::usable(pointer);
    }

    static void *resize(void *pointer, size_t size) noexcept {
        if (!chunks.contains(pointer)) {
            if (!heap.owns(pointer)) return resize_foreign(pointer, size);
            const size_t large = heap.usable(pointer);
            return still_fits(large, size) ? pointer : move_block<Own>(pointer, large, size);
        }
        const size_t old = header_of(pointer);
        if (size <= old) return pointer;
        // The last block of its thread grows where it is.
        Bump &thread = bump;
        const size_t more = bytes_for(size) - kHeader - old;
        if (static_cast<char *>(pointer) + old == thread.next && size <= kLargestBumped &&
            has_room(thread, more)) {
            thread.next += more;
            header_of(pointer) = old + more;
            return pointer;
        }
        return move_block<Own>(pointer, old, size);
    }
};

[[gnu::constructor]] static void start() {
    chunks.start();
    start_recycling();
    pthread_atfork([] { chunks.lock(); }, [] { chunks.unlock(); }, [] { chunks.after_fork_in_child(); });
}

} // namespace reap::preload

#include "functions.h"
