// A preload for tests alone: walks the stack of each allocation both by libgcc and by the recorder's
// unwinder, and compares the frames. Each process appends a line to the file named by REAP_UNWIND_CHECK when
// it exits: stacks, frames, differences. The first difference of a process is described in a line of its own.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "platform.h"
#include "real.h"
#include "stack_table.h"
#include "stack_walk.h"
#include "unwinder.h"

using namespace reap::preload;

namespace {

constexpr size_t kMaxFrames = 128;

// Numbers edges, and tells what a number stands for.
class CheckedEdges {
  public:
    uint32_t intern(uint32_t parent, uint64_t address) noexcept {
        const LockGuard guard(lock_);
        uint32_t id = table_.find(parent, address);
        if (id != 0) return id;
        id = table_.add(parent, address);
        if (edges_ == nullptr) edges_ = static_cast<Edge *>(map_private(kMost * sizeof(Edge)));
        if (id >= kMost || edges_ == nullptr) return 0;
        edges_[id] = {address, parent};
        return id;
    }
    size_t frames(uint32_t id, uint64_t *out) const noexcept {
        size_t count = 0;
        for (; id != 0; id = edges_[id].parent) out[count++] = edges_[id].address;
        return count;
    }
    void reset() noexcept { lock_.reset(); }

  private:
    static constexpr size_t kMost = 4 << 20;
    struct Edge {
        uint64_t address;
        uint32_t parent;
    };
    FutexLock lock_;
    StackTable table_;
    Edge *edges_ = nullptr;
};

Unwinder unwinder;
CheckedEdges edges;
uint64_t numbered;
thread_local KnownStack *known __attribute__((tls_model("initial-exec")));
uint64_t stacks;
uint64_t compared;
uint64_t differences;
thread_local uint32_t unloads __attribute__((tls_model("initial-exec")));
bool disabled; // in a child of vfork or after the summary
thread_local bool busy __attribute__((tls_model("initial-exec")));

void report(const char *line, size_t length) noexcept {
    static const char *path = getenv("REAP_UNWIND_CHECK");
    if (path == nullptr) return;
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) return;
    (void)!write(file, line, length);
    close(file);
}

REAP_COLD void describe(const uint64_t *ours, size_t our_count, const uint64_t *theirs,
                        size_t count) noexcept {
    if (__atomic_fetch_add(&differences, 1, __ATOMIC_RELAXED) != 0) return;
    char text[8192];
    int used =
        snprintf(text, sizeof text, "difference in %d: %zu frames, libgcc %zu:", getpid(), our_count, count);
    for (size_t i = 0; i < (our_count > count ? our_count : count) && used < 8000; ++i)
        used += snprintf(text + used, sizeof text - static_cast<size_t>(used), " %lx/%lx",
                         i < our_count ? ours[i] : 0, i < count ? theirs[i] : 0);
    text[used++] = '\n';
    report(text, static_cast<size_t>(used));
}

// The stack begins with the caller, which a tail call leaves the program's: so begin most of the recorder's.
[[gnu::noinline]] void *check(void *pointer) noexcept {
    if (busy || disabled) return pointer;
    busy = true;
    const ErrnoGuard keep;
    uint64_t ours[kMaxFrames];
    uint64_t theirs[kMaxFrames];
    const size_t our_count = unwinder.walk(ours, kMaxFrames);
    const size_t count = walk_stack(theirs, kMaxFrames);
    if (known == nullptr) known = static_cast<KnownStack *>(map_private(sizeof(KnownStack)));
    uint32_t id = 0;
    const auto edge = [](uint32_t parent, uint64_t address) { return edges.intern(parent, address); };
    if (unwinder.intern(*known, __builtin_frame_address(0), kMaxFrames, edge, id)) {
        uint64_t by_number[kMaxFrames];
        const size_t their_count = edges.frames(id, by_number);
        __atomic_fetch_add(&numbered, 1, __ATOMIC_RELAXED);
        if (count != their_count || memcmp(by_number, theirs, count * sizeof *theirs) != 0)
            describe(by_number, their_count, theirs, count);
    }
    __atomic_fetch_add(&stacks, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&compared, count, __ATOMIC_RELAXED);
    if (count != our_count || memcmp(ours, theirs, count * sizeof *ours) != 0)
        describe(ours, our_count, theirs, count);
    busy = false;
    return pointer;
}

[[gnu::constructor]] void start() {
    pthread_atfork(nullptr, nullptr, [] {
        stacks = compared = differences = numbered = 0;
        edges.reset();
        unwinder.after_fork_in_child(unloads);
    });
}

[[gnu::destructor]] void summarise() {
    char text[256];
    char name[64] = {};
    read_file("/proc/self/comm", name, sizeof name - 1);
    name[strcspn(name, "\n")] = '\0';
    const int used = snprintf(
        text, sizeof text, "%s: %lu stacks, %lu frames, %lu numbered, %lu by libgcc alone, %lu differences\n",
        name, stacks, compared, numbered, unwinder.unsupported(), differences);
    report(text, static_cast<size_t>(used));
}

} // namespace

REAP_EXPORT void *malloc(size_t size) { return check(real.malloc(size)); }

REAP_EXPORT void *calloc(size_t count, size_t size) { return check(real.calloc(count, size)); }

REAP_EXPORT void *realloc(void *pointer, size_t size) {
    if (!is_bootstrap(pointer)) {
        pointer = real.realloc(pointer, size);
    } else {
        void *fresh = real.malloc(size);
        memcpy(fresh, pointer, size);
        pointer = fresh;
    }
    return check(pointer);
}

REAP_EXPORT void free(void *pointer) {
    if (!is_bootstrap(pointer)) real.free(pointer);
}

REAP_EXPORT int dlclose(void *handle) {
    static auto *close_it = reinterpret_cast<int (*)(void *)>(dlsym(RTLD_NEXT, "dlclose"));
    ++unloads;
    unwinder.before_unload();
    const int status = close_it(handle);
    unwinder.after_unload();
    --unloads;
    return status;
}

REAP_EXPORT void *dlopen(const char *file, int mode) {
    static auto *open_it = reinterpret_cast<void *(*)(const char *, int)>(dlsym(RTLD_NEXT, "dlopen"));
    if (unwinder.missed_unload()) {
        unwinder.before_unload();
        unwinder.after_unload();
    }
    return open_it(file, mode);
}
