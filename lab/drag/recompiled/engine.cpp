#include "engine.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/pools.h"
#include "environment.h"
#include "objects/blocks.h"
#include "objects/chunks.h"
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
constinit thread_local bool holding __attribute__((tls_model("initial-exec"))) = false;

void child() noexcept {
    lock.reset();
    recording.forget();
    if (!recorded) return;
    recording.open(folder, state.clock(), REAP_DRAG_FORKED);
}

// Sizes of 4 GB and more are rare enough to be cut.
uint32_t bounded(size_t size) noexcept { return size < kHuge ? static_cast<uint32_t>(size) : kHuge; }

// By calls that mark nothing: there may be no slots.
[[noreturn]] void refuse() noexcept {
    static const char kSaid[] =
        "reap: the address space for drag is refused (ulimit -v? Valgrind, which runs "
        "what is built without reap-drag-cc?); the program ends\n";
    (void)!syscall(SYS_write, 2, kSaid, sizeof kSaid - 1);
    syscall(SYS_exit_group, 125);
    __builtin_unreachable();
}

} // namespace

Busy::Busy() noexcept { ++busy; }
Busy::~Busy() { --busy; }

// A thread that is alone, and starts none meanwhile, needs no lock. A signal's handler that ends the process
// must not wait for what it interrupted: it asks `holding`.
Turn::Turn() noexcept : locked_(!preload::is_single_threaded()) {
    holding = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (locked_) lock.lock();
}
Turn::~Turn() {
    if (locked_) lock.unlock();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    holding = false;
}

bool records() noexcept { return recorded && busy == 0; }

uint32_t step(uint32_t kind, const Stack &stack, size_t size) noexcept {
    if (state.clock() == kLastClock) {
        recording.full();
        recording.forget();
        return 0;
    }
    const uint32_t birth = state.clock() + 1;
    state.set_clock(birth);
    recording.allocated(kind, stack, size);
    return birth;
}

void write_end(uint32_t kind, uintptr_t address, size_t size, uint32_t birth, uint32_t flags) noexcept {
    const Use use = use_of(address, size, birth);
    recording.ended(kind, state.clock(), birth, use, flags);
}

void start(char **environment) noexcept {
    static bool started = false;
    if (started) return;
    started = true;
    if (!map_shadow()) refuse(); // before anything marks, be it in here
    folder = preload::find_variable(environment, REAP_DRAG_FOLDER_ENV);
    if (folder != nullptr && !open_shadow()) refuse();
    if (folder == nullptr || !recording.open(folder, 0, 0)) return;
    recorded = true;
    pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, child);
}

void born(const void *pointer, size_t size, const void *frame, const void *caller) noexcept {
    if (!records() || pointer == nullptr) return;
    __builtin_prefetch(block_at(pointer), 1); // comes while the stack is walked
    const preload::ErrnoGuard keep;
    Stack stack;
    walk(frame, caller, stack);
    const Turn turn;
    const uint32_t birth = step(REAP_DRAG_ALLOC, stack, size);
    if (birth == 0) return;
    note_region(pointer, size);
    Block &block = *block_at(pointer);
    block.birth = birth;
    block.size = bounded(size);
    if (any_objects) block_born(reinterpret_cast<uintptr_t>(pointer), size);
}

void died(const void *pointer, bool copied) noexcept {
    if (!recorded || pointer == nullptr) return;
    Block &block = *block_at(pointer);
    __builtin_prefetch(static_cast<const char *>(pointer) - 16, 1); // where most allocators look next
    if (block.birth == 0) return;
    const Turn turn;
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const uint32_t flags = any_objects && block_died(address, block.size) ? REAP_DRAG_CHUNK : 0;
    Use use = last_use_of(address, block.size, block.birth);
    if (copied) use.earlier = use.last;
    recording.ended(REAP_DRAG_FREE, state.clock(), block.birth, use, flags);
    block.birth = 0;
}

size_t size_of(const void *pointer) noexcept {
    return recorded && block_at(pointer)->birth != 0 ? block_at(pointer)->size : kUnknown;
}

void finish(reap_drag_end how) noexcept {
    if (!recorded || !recording.is_of_this_process()) return;
    if (holding) return; // in the middle of an event
    const Turn turn;
    if (!recording.is_open()) return;
    each_block([](uintptr_t address, Block &block) {
        const uint32_t flags = any_objects && is_chunk(address) ? REAP_DRAG_CHUNK : 0;
        write_end(REAP_DRAG_LIVE, address, block.size, block.birth, flags);
    });
    each_object([](uintptr_t address, size_t size, uint32_t birth) {
        write_end(REAP_DRAG_LIVE, address, size, birth, 0);
    });
    recording.finish(how);
}

void forked() noexcept {
    if (!recorded) return;
    const preload::ErrnoGuard keep;
    child();
}

void resume() noexcept {
    if (!recorded || !recording.is_of_this_process()) return;
    if (holding) return;
    const Turn turn;
    recording.resume();
}

} // namespace reap::drag
