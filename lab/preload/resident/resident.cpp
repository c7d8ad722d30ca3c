/* libreap-resident.so: polls the statistics of a process's allocator.
 *
 * A thread of its own reads them at an interval and writes them to a mapped file (see reap_resident.h). With
 * REAP_RESIDENT_TRIM_ENV it also has glibc return its free pages; with that alone it reads and writes
 * nothing. It does not change the program's behaviour:
 *
 * - every signal is blocked in the thread;
 * - the thread is ended while glibc changes the user or group of all threads: it lacks the capabilities that
 * the program keeps, and glibc aborts the process if the change fails in one thread only;
 * - and while the program changes its namespaces, some of which require a single-threaded process;
 * - it opens no descriptor among the program's once that runs, so that these keep their numbers;
 * - it holds none of our locks, and of the allocator's only those that the allocator's own fork handlers
 * cover, so that the order of handlers does not matter; the child of a fork has no such thread and writes
 * nothing;
 * - if main ends by pthread_exit the thread ends first, and if main ends in another way (it is cancelled, or
 * makes the system call itself) soon after: otherwise the process would never end;
 * - reading statistics takes at most a fiftieth of the time: slow statistics are read less often. The walk
 * over glibc's heaps holds no lock, and may take a quarter of a CPU while the heaps change.
 *
 * Functions of allocators that are linked in are called at addresses that the lab found, and never while a
 * library is being loaded or unloaded (see linked.h).
 *
 * The program has an additional thread; see docs/rss.md for what can notice that.
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
#include <gnu/libc-version.h>
#include <grp.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <unistd.h>

#include "heaps.h"
#include "linked.h"
#include "mappings.h"
#include "next.h"
#include "own_memory.h"
#include "platform.h"
#include "reap_resident.h"
#include "statistics.h"

namespace {

using namespace reap::preload;
using reap::glibc::Heaps;

constexpr uint64_t second = 1'000'000'000;
constexpr uint64_t share = 50;     // reading under the allocator's locks takes at most 1/share of the time
constexpr uint64_t walk_share = 4; // walking without locks, at most 1/walk_share of another CPU
constexpr uint64_t steady = 20;    // while the heaps change by at most 1/steady, walking takes 1/share, too
constexpr size_t stack_bytes = size_t{256} * 1024;
constexpr uint64_t max_sleep = second / 4; // a process outlives its main thread by at most this
constexpr int one = 1;
constexpr time_t join_timeout = 1; // seconds

reap_resident *file;
Statistics statistics;
constinit Heaps heaps;
constinit Mappings mappings;
Linked linked;
uint64_t interval;
uint64_t next_trim; // nanoseconds of the clock; 0: none
uint64_t trim_interval;
pthread_t thread;
uint32_t poller; // the kernel's number of that thread
void *thread_stack;
pid_t owner;
FutexLock call_lock;
thread_local bool inside_call __attribute__((tls_model("initial-exec")));
int ending; // 1: the thread is to end

uint64_t read_clock(clockid_t clock) noexcept {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * second + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t now() noexcept { return read_clock(CLOCK_MONOTONIC); }

// CPU time of this thread: on a busy machine, elapsed time is mostly waiting.
uint64_t thread_cpu_time() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

// Whether the main thread has ended while the process continues: its memory is then not accessible.
bool main_has_ended() noexcept {
    char byte = 0;
    const iovec here{&byte, 1};
    const iovec from{const_cast<int *>(&one), 1};
    return syscall(SYS_process_vm_readv, getpid(), &here, 1L, &from, 1L, 0L) < 0 && errno == ESRCH;
}

// Sleeps, or returns false when the thread is to end.
bool sleep_for(uint64_t nanoseconds) noexcept {
    const uint64_t until = now() + nanoseconds;
    for (uint64_t at = now(); at < until; at = now()) {
        const uint64_t left = until - at < max_sleep ? until - at : max_sleep;
        const timespec time{static_cast<time_t>(left / second), static_cast<long>(left % second)};
        syscall(SYS_futex, &ending, FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0);
        if (__atomic_load_n(&ending, __ATOMIC_ACQUIRE) != 0 || main_has_ended()) return false;
    }
    return true;
}

bool walk(Heaps::Found &found, const uint64_t (&values)[REAP_RESIDENT_VALUES]) noexcept {
    const uint64_t begin = thread_cpu_time();
    const bool whole = heaps.walk(values[0], values[4], ending, found);
    if (whole) mappings.find(values[1], ending, found.around);
    found.main.used = values[2];
    found.main.arena = values[0];
    found.main.stamp = found.others.stamp = now();
    found.main.duration = thread_cpu_time() - begin;
    return whole;
}

// When the heaps were walked, and how they were.
struct LastWalk {
    uint64_t stamp = 0;
    uint64_t duration = 0;
    uint64_t used = 0;
    uint64_t arena = 0;
    uint64_t resident = 0;
    uint64_t next_look = 0; // at what is resident
};

uint64_t difference(uint64_t a, uint64_t b) noexcept { return a > b ? a - b : b - a; }

// Whether the heaps are to be walked again, by what the allocator says now and what is resident: malloc_trim
// changes only the latter.
bool walk_is_due(LastWalk &last, uint64_t stamp, const uint64_t (&values)[REAP_RESIDENT_VALUES]) noexcept {
    if (stamp < last.stamp + walk_share * last.duration) return false;
    if (stamp >= last.stamp + share * last.duration) return true;
    const uint64_t changed = difference(values[2], last.used) + difference(values[0], last.arena);
    if (changed * steady > last.arena) return true;
    if (stamp < last.next_look) return false;
    last.next_look = stamp + walk_share * last.duration;
    return difference(heaps.resident(), last.resident) * steady > last.resident;
}

template <class Write>
void publish(Write write) noexcept {
    __atomic_fetch_add(&file->sequence, 1, __ATOMIC_ACQ_REL);
    write();
    __atomic_fetch_add(&file->sequence, 1, __ATOMIC_ACQ_REL);
}

// Returns free pages of glibc's heaps when that is due, until `end`; false if the thread is to end.
bool trim_until(uint64_t end) noexcept {
    while (next_trim != 0 && next_trim < end) {
        const uint64_t at = now();
        if (at < next_trim && !sleep_for(next_trim - at)) return false;
        malloc_trim(0); // takes the locks of the arenas, which glibc holds while it forks
        next_trim = trim_interval != 0 ? now() + trim_interval : 0;
    }
    return true;
}

// Sleeps, and trims meanwhile where that was asked for; false if the thread is to end.
bool rest_for(uint64_t nanoseconds) noexcept {
    const uint64_t end = now() + nanoseconds;
    if (!trim_until(end)) return false;
    const uint64_t at = now();
    return sleep_for(at < end ? end - at : 0);
}

void *poll_allocator(void *passed) {
    poller = thread_id();
    if (passed != nullptr) static_cast<Mappings *>(passed)->open();
    linked.forget();
    LastWalk last;
    do {
        uint64_t values[REAP_RESIDENT_VALUES];
        const uint64_t begin = thread_cpu_time();
        statistics.read(values);
        reap_resident_linked others[REAP_RESIDENT_LINKED];
        linked.read(others);
        const uint64_t cost = share * (thread_cpu_time() - begin);
        const uint64_t stamp = now();
        publish([&] {
            file->stamp = stamp;
            memcpy(file->values, values, sizeof values);
            memcpy(file->linked, others, sizeof others);
        });
        // Afterwards: on a busy machine it may take seconds, in which most of the heap may be freed.
        if (statistics.kind() == REAP_RESIDENT_GLIBC && walk_is_due(last, stamp, values)) {
            Heaps::Found found;
            if (walk(found, values)) {
                publish([&] {
                    file->walk = found.main;
                    file->others = found.others;
                    file->around = found.around;
                });
            }
            last = {.stamp = found.main.stamp,
                    .duration = found.main.duration,
                    .used = values[2],
                    .arena = values[0],
                    .resident = found.main.resident + found.others.resident + found.around.unread_resident};
        }
        if (!rest_for(cost > interval ? cost : interval)) break;
    } while (true);
    __atomic_store_n(&file->stopped, 1, __ATOMIC_RELEASE);
    return nullptr;
}

// Trims alone, and asks nothing.
void *trim_heaps(void *) {
    poller = thread_id();
    trim_until(UINT64_MAX);
    __atomic_store_n(&file->stopped, 1, __ATOMIC_RELEASE);
    return nullptr;
}

void *(*body)(void *) = poll_allocator;

reap_resident *map_file(const char *path) noexcept {
    const long descriptor =
        syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
    if (descriptor < 0) return nullptr;
    // A program that root executes as another user keeps its number, and so its file. Nobody else is told its
    // name.
    constexpr long kEverybody = 0666;
    if (raw_call(SYS_geteuid) == 0) raw_call(SYS_fchmod, descriptor, kEverybody);
    void *memory = MAP_FAILED;
    if (allocate_space(static_cast<int>(descriptor), 0, sizeof(reap_resident)) == 0) {
        memory = mmap(nullptr, sizeof(reap_resident), PROT_READ | PROT_WRITE, MAP_SHARED,
                      static_cast<int>(descriptor), 0);
    }
    close_quietly(static_cast<int>(descriptor));
    return memory == MAP_FAILED ? nullptr : static_cast<reap_resident *>(memory);
}

// FOLDER/PID; false if it is too long.
bool make_path(char *path, size_t capacity, const char *folder) noexcept {
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

// The file may already exist, from before this process executed another program.
void fill_head() noexcept {
    memset(file, 0, sizeof *file);
    file->version = REAP_RESIDENT_VERSION;
    file->kind = statistics.kind();
    strncpy(file->provider, statistics.provider(), sizeof file->provider - 1);
    file->function = statistics.function();
    linked.start(file);
    __atomic_store_n(&file->magic, REAP_RESIDENT_MAGIC, __ATOMIC_RELEASE);
}

// `opens` is what opens a table of descriptors in the thread; null for none.
bool start_thread(Mappings *opens) noexcept {
    if (thread_stack == nullptr) thread_stack = map_private(stack_bytes);
    if (thread_stack == nullptr) return false;
    pthread_attr_t attributes{}; // before glibc 2.34 pthread_attr_init does nothing without libpthread
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, thread_stack, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &all, &before); // libc keeps the signal that setuid() needs unblocked
    const int error = pthread_create(&thread, &attributes, body, opens);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return error == 0;
}

// FIRST:INTERVAL in microseconds; without an interval it trims once.
void read_trims(const char *text) noexcept {
    char *rest = nullptr;
    next_trim = now() + strtoull(text, &rest, 10) * 1000;
    trim_interval = *rest == ':' ? strtoull(rest + 1, nullptr, 10) * 1000 : 0;
}

void start_trimming() noexcept {
    file = static_cast<reap_resident *>(map_private(sizeof *file));
    if (file == nullptr) return;
    body = trim_heaps;
    owner = getpid();
    if (!start_thread(nullptr)) file->stopped = 1;
}

[[gnu::constructor]] void start() {
    const ErrnoGuard keep;
    if (const char *trims = getenv(REAP_RESIDENT_TRIM_ENV); trims != nullptr) read_trims(trims);
    const char *text = getenv(REAP_RESIDENT_ENV);
    if (text == nullptr) {
        if (next_trim != 0) start_trimming();
        return;
    }
    char *folder = nullptr;
    interval = strtoull(text, &folder, 10) * 1000;
    char path[4096];
    if (interval == 0 || *folder != ':' || !make_path(path, sizeof path, folder + 1)) return;
    file = map_file(path);
    if (file == nullptr) return;
    statistics.find();
    heaps.start(gnu_get_libc_version(), statistics.data_begin(), statistics.data_end(), initial_break());
    fill_head();
    owner = getpid();
    if (!start_thread(&mappings)) file->stopped = 1;
}

bool runs() noexcept {
    return file != nullptr && owner == getpid() && __atomic_load_n(&file->stopped, __ATOMIC_ACQUIRE) == 0;
}

// Returns whether the thread has ended: it may wait for an allocator lock whose holder was interrupted by the
// signal handler that calls this.
bool end_thread() noexcept {
    __atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &ending, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += join_timeout;
    if (pthread_timedjoin_np(thread, nullptr, &until) != 0) return false;
    // It is joined when it no longer uses memory, and is one of the process's threads a little longer.
    while (raw_call(SYS_tgkill, getpid(), static_cast<long>(poller), 0) == 0) sched_yield();
    return true;
}

void restart_thread() noexcept {
    const ErrnoGuard keep;
    __atomic_store_n(&ending, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&file->stopped, 0, __ATOMIC_RELEASE);
    // A message queue of the program would lose its notification if a copy of its descriptor were closed.
    mappings.forget();
    if (!start_thread(nullptr)) __atomic_store_n(&file->stopped, 1, __ATOMIC_RELEASE);
}

REAP_NEXT(next_setuid, "setuid", decltype(setuid));
REAP_NEXT(next_setgid, "setgid", decltype(setgid));
REAP_NEXT(next_seteuid, "seteuid", decltype(seteuid));
REAP_NEXT(next_setegid, "setegid", decltype(setegid));
REAP_NEXT(next_setreuid, "setreuid", decltype(setreuid));
REAP_NEXT(next_setregid, "setregid", decltype(setregid));
REAP_NEXT(next_setresuid, "setresuid", decltype(setresuid));
REAP_NEXT(next_setresgid, "setresgid", decltype(setresgid));
REAP_NEXT(next_setgroups, "setgroups", decltype(setgroups));
REAP_NEXT(next_initgroups, "initgroups", decltype(initgroups));
REAP_NEXT(next_unshare, "unshare", decltype(unshare));
REAP_NEXT(next_setns, "setns", decltype(setns));
REAP_NEXT(next_pthread_exit, "pthread_exit", void(void *));
REAP_NEXT(next_thrd_exit, "thrd_exit", void(int));
REAP_NEXT(next_dlclose, "dlclose", decltype(dlclose));

// Ends the thread or starts it again, one thread of the program at a time.
template <class Change>
bool change_poller(Change change) noexcept {
    if (inside_call) return false;
    inside_call = true;
    call_lock.lock();
    const bool done = change();
    call_lock.unlock();
    inside_call = false;
    return done;
}

// Calls libc's own function, whose behaviour a second thread would change, without our thread.
template <class Real, class... Arguments>
int call_without_poller(Real &real, Arguments... arguments) noexcept {
    if (inside_call || !runs()) return real(arguments...); // inside: of a signal handler
    int status = 0;
    change_poller([&] {
        const bool ended = runs() && end_thread();
        status = real(arguments...);
        if (ended) restart_thread();
        return ended;
    });
    return status;
}

} // namespace

REAP_EXPORT int setuid(uid_t user) noexcept { return call_without_poller(next_setuid, user); }
REAP_EXPORT int setgid(gid_t group) noexcept { return call_without_poller(next_setgid, group); }
REAP_EXPORT int seteuid(uid_t user) noexcept { return call_without_poller(next_seteuid, user); }
REAP_EXPORT int setegid(gid_t group) noexcept { return call_without_poller(next_setegid, group); }
REAP_EXPORT int setreuid(uid_t real, uid_t effective) noexcept {
    return call_without_poller(next_setreuid, real, effective);
}
REAP_EXPORT int setregid(gid_t real, gid_t effective) noexcept {
    return call_without_poller(next_setregid, real, effective);
}
REAP_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
    return call_without_poller(next_setresuid, real, effective, saved);
}
REAP_EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
    return call_without_poller(next_setresgid, real, effective, saved);
}
REAP_EXPORT int setgroups(size_t count, const gid_t *groups) noexcept {
    return call_without_poller(next_setgroups, count, groups);
}
REAP_EXPORT int initgroups(const char *user, gid_t group) {
    return call_without_poller(next_initgroups, user, group);
}

// The kernel refuses user, time and mount namespaces to a multi-threaded process. In some namespaces no
// further thread can be created; then only the kernel's figures remain.
REAP_EXPORT int unshare(int what) noexcept { return call_without_poller(next_unshare, what); }
REAP_EXPORT int setns(int descriptor, int what) noexcept {
    return call_without_poller(next_setns, descriptor, what);
}

// Our thread may be calling a function of the library, or have data of its own there, whose destructor runs
// when the thread ends. No lock of ours is held meanwhile: the destructors of the library do what they want.
REAP_EXPORT int dlclose(void *library) noexcept {
    if (file == nullptr || owner != getpid())
        return next_dlclose(library); // the child of a fork has no thread
    linked.before_close();
    const bool ended = linked.has_called() && change_poller([] { return runs() && end_thread(); });
    const int status = next_dlclose(library);
    linked.after_close();
    if (ended) change_poller([] { return restart_thread(), true; });
    return status;
}

// The main thread may end before its process, which then ends with the last of its threads: it must not be
// ours.
REAP_EXPORT void pthread_exit(void *result) {
    if (static_cast<pid_t>(thread_id()) == getpid() && runs()) end_thread();
    next_pthread_exit(result);
    __builtin_unreachable();
}

REAP_EXPORT void thrd_exit(int result) {
    if (static_cast<pid_t>(thread_id()) == getpid() && runs()) end_thread();
    next_thrd_exit(result);
    __builtin_unreachable();
}
