#include "sandbox/confine.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>
#include <vector>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif

namespace reap::native {
namespace {

constexpr unsigned kNobody = 65534;
constexpr rlim_t kMostCpuSeconds = 600;
constexpr uint64_t kMostMemory = UINT64_C(64) << 30;

// Calls allowed with any argument: none reaches a file, process or socket that the process does not hold.
constexpr long kAllowed[] = {
    SYS_read,    SYS_pread64,      SYS_readv,          SYS_write,        SYS_close,       SYS_fstat,
    SYS_lseek,   SYS_mmap,         SYS_mprotect,       SYS_munmap,       SYS_mremap,      SYS_madvise,
    SYS_brk,     SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_poll,         SYS_recvmsg,     SYS_recvfrom,
    SYS_sendmsg, SYS_futex,        SYS_clock_gettime,  SYS_gettimeofday, SYS_getrandom,   SYS_getpid,
    SYS_gettid,  SYS_sysinfo,      SYS_exit,           SYS_exit_group,   SYS_sched_yield, SYS_restart_syscall,
};

// Calls that libraries make with names of files, answered by `call_instead`.
constexpr long kStopped[] = {SYS_open, SYS_openat, SYS_readlink, SYS_lstat, SYS_newfstatat};

void reset_signals() {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int signal = 1; signal <= SIGRTMAX; ++signal) ::signal(signal, SIG_DFL);
}

// Takes no descriptor beside the socket's before it has closed others: the table may be full.
bool leave_descriptors(int socket) {
    if (::dup2(socket, kConfinedSocket) < 0) return false;
    ::closefrom(kConfinedSocket + 1);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int standard = 0; standard <= STDERR_FILENO; ++standard) {
        if (nothing < 0 || ::dup2(nothing, standard) < 0) ::close(standard);
    }
    if (nothing > kConfinedSocket) ::close(nothing);
    return true;
}

// Rings of the kernel, recordings: a mapping stays over the end of its descriptor.
void leave_shared_memory() {
    std::vector<std::pair<uint64_t, uint64_t>> shared;
    FILE *const maps = std::fopen("/proc/self/maps", "re");
    if (maps == nullptr) return;
    char line[4608];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
        char *at = line; // as 7f00-7f10 rw-s ...
        const uint64_t begin = std::strtoull(at, &at, 16);
        const uint64_t end = *at == '-' ? std::strtoull(at + 1, &at, 16) : 0;
        if (end > begin && std::strlen(at) > 4 && at[4] == 's') shared.emplace_back(begin, end);
    }
    (void)std::fclose(maps);
    for (const auto &[begin, end] : shared)
        ::munmap(reinterpret_cast<void *>(begin), end - begin); // NOLINT(performance-no-int-to-ptr)
}

uint64_t memory_now() {
    char line[256] = {};
    if (FILE *const sizes = std::fopen("/proc/self/statm", "re")) {
        if (std::fgets(line, sizeof line, sizes) == nullptr) line[0] = '\0';
        (void)std::fclose(sizes);
    }
    return std::strtoull(line, nullptr, 10) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit(int resource, rlim_t soft, rlim_t hard) {
    rlimit had{};
    const bool known = ::getrlimit(static_cast<__rlimit_resource>(resource), &had) == 0;
    if (known) hard = std::min(hard, had.rlim_max);
    const rlimit wanted{std::min(soft, hard), hard};
    ::setrlimit(static_cast<__rlimit_resource>(resource), &wanted);
}

// Has the kernel end this process rather than another where memory runs short.
void end_first() {
    const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
    ::close(file);
}

void limit_all(uint64_t memory) {
    limit(RLIMIT_CPU, kMostCpuSeconds, kMostCpuSeconds);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_FSIZE, 0, 0);
    limit(RLIMIT_NOFILE, kMostFiles, kMostFiles);
    const uint64_t now = memory_now();
    limit(RLIMIT_AS, now + memory, now + kMostMemory);
}

// By system calls: glibc's functions would have all threads do the same, of which a child has one.
bool drop_privileges() {
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::geteuid() == 0) {
        ::syscall(SYS_setgroups, 0, nullptr);
        ::syscall(SYS_setresgid, kNobody, kNobody, kNobody);
        ::syscall(SYS_setresuid, kNobody, kNobody, kNobody);
    }
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct held[2]{};
    ::syscall(SYS_capset, &head, held);
    if (::syscall(SYS_capget, &head, held) != 0) return false;
    const bool has_none = std::ranges::all_of(
        held, [](const auto &each) { return each.permitted == 0 && each.effective == 0; });
    return has_none && ::geteuid() != 0 && ::getuid() != 0;
}

Elsewhere kept_elsewhere{};

using Argument = greg_t;

template <class Pointer>
Pointer *pointer_of(Argument argument) {
    return reinterpret_cast<Pointer *>(argument); // NOLINT(performance-no-int-to-ptr)
}

// The path that a descriptor was opened by which is named as /proc/self/fd/N; null for another name.
const char *path_behind(const char *path) {
    constexpr std::string_view descriptors = "/proc/self/fd/";
    if (std::strncmp(path, descriptors.data(), descriptors.size()) != 0) return nullptr;
    int number = 0;
    for (const char *at = path + descriptors.size(); *at != '\0'; ++at) {
        if (*at < '0' || *at > '9' || number > 1'000'000) return nullptr;
        number = 10 * number + (*at - '0');
    }
    return kept_elsewhere.path_of(number);
}

long open_instead(const char *path, Argument flags) {
    if ((flags & (O_ACCMODE | O_CREAT | O_DIRECTORY | O_PATH)) != O_RDONLY || *path != '/') return -EACCES;
    const int opened = kept_elsewhere.open(path);
    return opened >= 0 ? opened : -errno;
}

long readlink_instead(const char *path, char *out, size_t size) {
    const char *const found = path_behind(path);
    if (found == nullptr) return -EINVAL; // it is no link
    const size_t length = std::min(std::strlen(found), size);
    std::copy_n(found, length, out);
    return static_cast<long>(length);
}

// Answers glibc before 2.33, which asks whether a name is a link.
long lstat_instead(const char *path, struct stat *out) {
    *out = {};
    out->st_mode = path_behind(path) != nullptr ? S_IFLNK : S_IFDIR;
    return 0;
}

// Answers glibc from 2.33 on, which asks about a descriptor.
long fstatat_instead(Argument descriptor, const char *path, Argument out, Argument flags) {
    if ((flags & AT_EMPTY_PATH) == 0 || (path != nullptr && *path != '\0')) return -EACCES;
    return ::syscall(SYS_fstat, descriptor, out) == 0 ? 0 : -errno;
}

long call_instead(int call, const greg_t *arguments) {
    const Argument first = arguments[REG_RDI];
    const Argument second = arguments[REG_RSI];
    const Argument third = arguments[REG_RDX];
    switch (call) {
    case SYS_open:
        return open_instead(pointer_of<const char>(first), second);
    case SYS_openat:
        return open_instead(pointer_of<const char>(second), third);
    case SYS_readlink:
        return readlink_instead(pointer_of<const char>(first), pointer_of<char>(second),
                                static_cast<size_t>(third));
    case SYS_lstat:
        return lstat_instead(pointer_of<const char>(first), pointer_of<struct stat>(second));
    case SYS_newfstatat:
        return fstatat_instead(first, pointer_of<const char>(second), third, arguments[REG_R10]);
    default:
        return -EPERM;
    }
}

// The filter has stopped one of `kStopped`.
void on_stopped(int /*signal*/, siginfo_t *about, void *context) {
    const int kept = errno;
    greg_t *const registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    registers[REG_RAX] = call_instead(about->si_syscall, registers);
    errno = kept;
}

constexpr uint32_t offset_of_argument(uint32_t argument) {
    return static_cast<uint32_t>(offsetof(seccomp_data, args)) + 8 * argument;
}

bool filter_calls() {
    constexpr uint32_t call = offsetof(seccomp_data, nr);
    constexpr uint32_t architecture = offsetof(seccomp_data, arch);
    const auto load = [](uint32_t offset) { return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); };
    const auto give = [](uint32_t action) { return sock_filter BPF_STMT(BPF_RET | BPF_K, action); };
    // Passes over the next `steps` unless the loaded value is this one.
    const auto unless = [](uint64_t value, uint8_t steps) {
        return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(value), 0, steps);
    };
    // Calls of i386 have other numbers. Those of x32 are in no list.
    std::vector<sock_filter> filter = {load(architecture),
                                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
                                       give(SECCOMP_RET_KILL_PROCESS), load(call)};
    const auto decide = [&](const auto &calls, uint32_t action) {
        for (const long each : calls) {
            filter.push_back(unless(static_cast<uint64_t>(each), 1));
            filter.push_back(give(action));
        }
    };
    decide(kStopped, SECCOMP_RET_TRAP);
    decide(kAllowed, SECCOMP_RET_ALLOW);
    // A process's own limits, for `allow_memory`; it may raise them as far as `limit_all` has left.
    filter.insert(filter.end(), {unless(SYS_prlimit64, 3), load(offset_of_argument(0)), unless(0, 1),
                                 give(SECCOMP_RET_ALLOW), give(SECCOMP_RET_ERRNO | EPERM)});
    const sock_fprog program{static_cast<uint16_t>(filter.size()), filter.data()};
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

} // namespace

Confinement confine(int socket, uint64_t memory, Elsewhere elsewhere) {
    ::setsid();
    ::prctl(PR_SET_NAME, "reap-sandbox");
    reset_signals();
    if (!leave_descriptors(socket)) ::_exit(kNoSocket);
    leave_shared_memory();
    end_first();
    limit_all(memory);
    kept_elsewhere = elsewhere;
    struct sigaction stopped{};
    stopped.sa_sigaction = on_stopped;
    stopped.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGSYS, &stopped, nullptr);
    Confinement done;
    done.unprivileged = drop_privileges();
    done.filtered = filter_calls();
    return done;
}

void allow_memory(uint64_t more) {
    rlimit memory{};
    if (::getrlimit(RLIMIT_AS, &memory) != 0) return;
    memory.rlim_cur = more < memory.rlim_max - memory.rlim_cur ? memory.rlim_cur + more : memory.rlim_max;
    ::setrlimit(RLIMIT_AS, &memory);
}

bool is_watched() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_UNDEFINED__) ||      \
    defined(REAP_COVERAGE)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                                   \
    __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
    return true;
#endif
#endif
#ifdef RUNNING_ON_VALGRIND
    return RUNNING_ON_VALGRIND != 0;
#else
    return false;
#endif
}

} // namespace reap::native
