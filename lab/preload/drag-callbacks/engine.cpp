#include "engine.h"

#include <pthread.h>
#include <unistd.h>

#include "blocks.h"
#include "environment.h"
#include "reap_drag.h"
#include "recording.h"
#include "stack.h"

namespace reap::drag {
namespace {

preload::FutexLock lock;
Recording recording;
const char *folder = nullptr; // stands in the process's first environment
bool recorded = false;        // blocks are known, and looked at when they die
constinit thread_local int busy __attribute__((tls_model("initial-exec"))) = 0;

void child() noexcept {
    lock.reset();
    recording.forget();
    if (!recorded) return;
    recording.open(folder, now_clock, REAP_DRAG_FORKED);
}

// Sizes of 4 GB and more are rare enough to be cut.
uint32_t bounded(size_t size) noexcept { return size < kHuge ? static_cast<uint32_t>(size) : kHuge; }

void write_end(uint32_t kind, uintptr_t address, const Block &block) noexcept {
    const Use use = use_of(address, block.size, block.birth);
    recording.ended(kind, now_clock, block.birth, use.last, use.flags);
}

} // namespace

Busy::Busy() noexcept { ++busy; }
Busy::~Busy() { --busy; }

void start(char **environment) noexcept {
    static bool started = false;
    if (started) return;
    started = true;
    if (!map_shadow()) {
        static const char kSaid[] =
            "reap: the address space for drag is refused (ulimit -v?); the program ends\n";
        (void)!write(2, kSaid, sizeof kSaid - 1);
        _exit(125);
    }
    folder = preload::find_variable(environment, REAP_DRAG_FOLDER_ENV);
    if (folder == nullptr || !map_blocks() || !recording.open(folder, 0, 0)) return;
    open_shadow();
    recorded = true;
    pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, child);
}

void born(const void *pointer, size_t size, const void *frame, const void *caller) noexcept {
    if (!recorded || busy != 0 || pointer == nullptr) return;
    const preload::ErrnoGuard keep;
    Stack stack;
    walk(frame, caller, stack);
    const preload::LockGuard guard(lock);
    if (now_clock == UINT32_MAX - 1) {
        recording.full();
        recording.forget();
        return;
    }
    const uint32_t birth = __atomic_add_fetch(&now_clock, 1, __ATOMIC_RELAXED);
    recording.allocated(stack, size);
    note_region(pointer);
    *block_at(pointer) = {birth, bounded(size)};
}

void died(const void *pointer) noexcept {
    if (!recorded || pointer == nullptr) return;
    Block &block = *block_at(pointer);
    if (block.birth == 0) return;
    const preload::ErrnoGuard keep;
    const preload::LockGuard guard(lock);
    write_end(REAP_DRAG_FREE, reinterpret_cast<uintptr_t>(pointer), block);
    block = {};
}

size_t size_of(const void *pointer) noexcept {
    return recorded && block_at(pointer)->birth != 0 ? block_at(pointer)->size : kUnknown;
}

void finish(reap_drag_end how) noexcept {
    if (!recorded || !recording.is_of_this_process()) return;
    const preload::LockGuard guard(lock);
    if (!recording.is_open()) return;
    each_block([](uintptr_t address, Block &block) { write_end(REAP_DRAG_LIVE, address, block); });
    recording.finish(how);
}

void resume() noexcept {
    if (!recorded || !recording.is_of_this_process()) return;
    const preload::ErrnoGuard keep;
    const preload::LockGuard guard(lock);
    recording.resume();
}

} // namespace reap::drag
