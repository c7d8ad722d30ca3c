/* libreap-resident.so: what does the allocator of a process hold, moment by moment?
 *
 * A thread of its own asks the allocator at an interval and writes the answer into a mapped file (see
 * reap_resident.h). It is built so that the program does what it always does:
 *
 * - every signal is blocked in it but those by which glibc itself changes all threads' user;
 * - it opens no descriptor once the program runs, so that none of the program's has another number;
 * - it holds no lock of ours, and of the allocator's only those that its own handlers of fork know, so that
 *   no order of handlers can be wrong; the child of a fork has no such thread and writes nothing;
 * - where main ends by pthread_exit it ends first: the process would wait for it for ever;
 * - what it asks takes at most a fiftieth of the time: an answer that took long is asked for less often. The
 *   walk over glibc's heap holds no lock, and may take a quarter of a processor while the heap changes.
 *
 * The program has one more thread than without it; see docs/rss.md for what can notice that.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "heap_walk.h"
#include "platform.h"
#include "reap_resident.h"
#include "statistics.h"

namespace {

using namespace reap::preload;

constexpr uint64_t second = 1'000'000'000;
constexpr uint64_t share = 50;     // what holds the allocator's locks may take one part in so many,
constexpr uint64_t walk_share = 4; // what holds none, one in so many of another processor
constexpr size_t stack_bytes = size_t{256} * 1024;
constexpr int walk_attempts = 3;

reap_resident *file;
Statistics statistics;
uint64_t heap_begin;
uint64_t interval;
pthread_t thread;
pid_t owner;
int ending; // 1: the thread is to end

uint64_t read_clock(clockid_t clock) noexcept {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * second + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t now() noexcept { return read_clock(CLOCK_MONOTONIC); }

// What this thread has worked: on a busy machine it is the waiting that takes long.
uint64_t worked() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

// Sleeps, or returns false at once when the thread is to end.
bool sleep_for(uint64_t nanoseconds) noexcept {
    const timespec time{static_cast<time_t>(nanoseconds / second), static_cast<long>(nanoseconds % second)};
    syscall(SYS_futex, &ending, FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0);
    return __atomic_load_n(&ending, __ATOMIC_ACQUIRE) == 0;
}

// Several tries, since the program goes on meanwhile.
bool walk(reap_resident_walk &found, const uint64_t (&values)[REAP_RESIDENT_VALUES]) noexcept {
    const uint64_t begin = worked();
    bool whole = false;
    for (int attempt = 0; attempt < walk_attempts && !whole; ++attempt) {
        whole = walk_heap(heap_begin, present_break(), found);
    }
    found.used = values[2];
    found.arena = values[0];
    found.stamp = now();
    found.duration = worked() - begin;
    return whole;
}

void *ask_again_and_again(void *) {
    uint64_t next_walk = 0;
    do {
        uint64_t values[REAP_RESIDENT_VALUES];
        const uint64_t begin = worked();
        statistics.ask(values);
        const uint64_t cost = share * (worked() - begin);
        const uint64_t stamp = now();
        reap_resident_walk found{};
        bool walked = false;
        if (statistics.kind() == REAP_RESIDENT_GLIBC && stamp >= next_walk) {
            walked = walk(found, values);
            next_walk = found.stamp + walk_share * found.duration;
        }
        __atomic_fetch_add(&file->sequence, 1, __ATOMIC_ACQ_REL);
        file->stamp = stamp;
        memcpy(file->values, values, sizeof values);
        if (walked) file->walk = found;
        __atomic_fetch_add(&file->sequence, 1, __ATOMIC_ACQ_REL);
        if (!sleep_for(cost > interval ? cost : interval)) break;
    } while (true);
    __atomic_store_n(&file->stopped, 1, __ATOMIC_RELEASE);
    return nullptr;
}

reap_resident *map_file(const char *path) noexcept {
    const long descriptor =
        syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
    if (descriptor < 0) return nullptr;
    void *memory = MAP_FAILED;
    if (allocate_space(static_cast<int>(descriptor), 0, sizeof(reap_resident)) == 0) {
        memory = mmap(nullptr, sizeof(reap_resident), PROT_READ | PROT_WRITE, MAP_SHARED,
                      static_cast<int>(descriptor), 0);
    }
    close_quietly(static_cast<int>(descriptor));
    return memory == MAP_FAILED ? nullptr : static_cast<reap_resident *>(memory);
}

// FOLDER/PID; false if it is too long.
bool name_file(char *path, size_t capacity, const char *folder) noexcept {
    const size_t length = strlen(folder);
    if (length + 12 > capacity) return false;
    memcpy(path, folder, length);
    char digits[12];
    size_t count = 0;
    for (auto left = static_cast<unsigned>(getpid()); left != 0; left /= 10) {
        digits[count++] = static_cast<char>('0' + left % 10);
    }
    path[length] = '/';
    for (size_t i = 0; i < count; ++i) path[length + 1 + i] = digits[count - 1 - i];
    path[length + 1 + count] = '\0';
    return true;
}

// A file may be there already: that of what this process was before it executed another program.
void fill_head() noexcept {
    memset(file, 0, sizeof *file);
    file->version = REAP_RESIDENT_VERSION;
    file->kind = statistics.kind();
    strncpy(file->provider, statistics.provider(), sizeof file->provider - 1);
    __atomic_store_n(&file->magic, REAP_RESIDENT_MAGIC, __ATOMIC_RELEASE);
}

bool start_thread() noexcept {
    void *stack = map_private(stack_bytes);
    if (stack == nullptr) return false;
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &all, &before); // libc's own leaves out what setuid() needs
    const int error = pthread_create(&thread, &attributes, ask_again_and_again, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (error != 0) munmap(stack, stack_bytes);
    return error == 0;
}

[[gnu::constructor]] void start() {
    const ErrnoGuard keep;
    const char *text = getenv(REAP_RESIDENT_ENV);
    if (text == nullptr) return;
    char *folder = nullptr;
    interval = strtoull(text, &folder, 10) * 1000;
    char path[4096];
    if (interval == 0 || *folder != ':' || !name_file(path, sizeof path, folder + 1)) return;
    file = map_file(path);
    if (file == nullptr) return;
    statistics.find();
    heap_begin = first_break();
    fill_head();
    owner = getpid();
    if (statistics.kind() == REAP_RESIDENT_NONE || !start_thread()) file->stopped = 1;
}

void end_thread() noexcept {
    if (file == nullptr || owner != getpid() || __atomic_load_n(&file->stopped, __ATOMIC_ACQUIRE) != 0)
        return;
    __atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &ending, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    pthread_join(thread, nullptr);
}

} // namespace

// Main may end before its process does. The process then ends with the last of its threads, which must not be
// ours.
REAP_EXPORT void pthread_exit(void *result) {
    if (static_cast<pid_t>(thread_id()) == getpid()) end_thread();
    reinterpret_cast<void (*)(void *)>(dlsym(RTLD_NEXT, "pthread_exit"))(result);
    __builtin_unreachable();
}

REAP_EXPORT void thrd_exit(int result) {
    if (static_cast<pid_t>(thread_id()) == getpid()) end_thread();
    reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "thrd_exit"))(result);
    __builtin_unreachable();
}
