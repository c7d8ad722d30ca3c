#include "engine.h"

#include <pthread.h>
#include <sys/single_threaded.h>
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
constinit thread_local bool holding __attribute__((tls_model("initial-exec"))) = false;

// The recording is this thread's. A thread that is alone, and starts none meanwhile, needs no lock. A
// signal's handler that ends the process must not wait for what it interrupted: it asks `holding`.
class Mine {
  public:
    Mine() noexcept : locked_(__libc_single_threaded == 0) {
        holding = true;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (locked_) lock.lock();
    }
    ~Mine() {
        if (locked_) lock.unlock();
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        holding = false;
    }
    Mine(const Mine &) = delete;
    Mine &operator=(const Mine &) = delete;

  private:
    bool locked_;
};

void child() noexcept {
    lock.reset();
    recording.forget();
    if (!recorded) return;
    recording.open(folder, state.clock(), REAP_DRAG_FORKED);
}

// Sizes of 4 GB and more are rare enough to be cut.
uint32_t bounded(size_t size) noexcept { return size < kHuge ? static_cast<uint32_t>(size) : kHuge; }

void write_end(uint32_t kind, uintptr_t address, const Block &block) noexcept {
    const Use use = use_of(address, block.size, block.birth);
    recording.ended(kind, state.clock(), block.birth, use.last, use.flags);
}

} // namespace

Busy::Busy() noexcept { ++busy; }
Busy::~Busy() { --busy; }

void start(char **environment) noexcept {
    static bool started = false;
    if (started) return;
    started = true;
    const bool mapped = map_shadow(); // before anything marks, be it in here
    folder = preload::find_variable(environment, REAP_DRAG_FOLDER_ENV);
    if (!mapped || (folder != nullptr && !open_shadow())) {
        static const char kSaid[] =
            "reap: the address space for drag is refused (ulimit -v?); the program ends\n";
        (void)!write(2, kSaid, sizeof kSaid - 1);
        _exit(125);
    }
    if (folder == nullptr || !recording.open(folder, 0, 0)) return;
    recorded = true;
    pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, child);
}

void born(const void *pointer, size_t size, const void *frame, const void *caller) noexcept {
    if (!recorded || busy != 0 || pointer == nullptr) return;
    __builtin_prefetch(block_at(pointer), 1); // comes while the stack is walked
    const preload::ErrnoGuard keep;
    Stack stack;
    walk(frame, caller, stack);
    const Mine guard;
    if (state.clock() == kLastClock) {
        recording.full();
        recording.forget();
        return;
    }
    const uint32_t birth = state.clock() + 1;
    state.set_clock(birth);
    recording.allocated(stack, size);
    note_region(pointer);
    Block &block = *block_at(pointer);
    block.birth = birth;
    block.size = bounded(size);
}

void died(const void *pointer) noexcept {
    if (!recorded || pointer == nullptr) return;
    Block &block = *block_at(pointer);
    __builtin_prefetch(static_cast<const char *>(pointer) - 16, 1); // where most allocators look next
    if (block.birth == 0) return;
    const preload::ErrnoGuard keep;
    const Mine guard;
    write_end(REAP_DRAG_FREE, reinterpret_cast<uintptr_t>(pointer), block);
    forget_reads(reinterpret_cast<uintptr_t>(pointer), block.size);
    block.birth = 0;
}

size_t size_of(const void *pointer) noexcept {
    return recorded && block_at(pointer)->birth != 0 ? block_at(pointer)->size : kUnknown;
}

void finish(reap_drag_end how) noexcept {
    if (!recorded || !recording.is_of_this_process()) return;
    if (holding) return; // in the middle of an event
    const Mine guard;
    if (!recording.is_open()) return;
    each_block([](uintptr_t address, Block &block) { write_end(REAP_DRAG_LIVE, address, block); });
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
    const preload::ErrnoGuard keep;
    const Mine guard;
    recording.resume();
}

} // namespace reap::drag
