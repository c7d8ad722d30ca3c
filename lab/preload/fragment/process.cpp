#include "process.h"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "callgrind.h"
#include "environment.h"
#include "event_counter.h"
#include "litter.h"
#include "platform.h"
#include "settle.h"

namespace reap::preload {

Process process;

namespace {

uint64_t now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t nanoseconds(const timeval &time) noexcept {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_usec) * 1000u;
}

// The second number of /proc/self/statm, in bytes; 0 if it cannot be read.
uint64_t resident_bytes() noexcept {
    char text[128];
    text[read_file("/proc/self/statm", text, sizeof text - 1)] = '\0';
    char *end = text;
    strtoull(text, &end, 10);
    return strtoull(end, nullptr, 10) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Memory that is available without swapping; UINT64_MAX if unknown.
uint64_t available_bytes() noexcept {
    char text[512];
    text[read_file("/proc/meminfo", text, sizeof text - 1)] = '\0';
    const char *at = strstr(text, "MemAvailable:");
    return at != nullptr ? strtoull(at + strlen("MemAvailable:"), nullptr, 10) * 1024 : UINT64_MAX;
}

// Where the object that contains `address` is mapped. Unlike dladdr this does not wait for a library that
// another thread opens.
const void *base_of(const void *address) noexcept {
    dl_find_object found{};
    return _dl_find_object(const_cast<void *>(address), &found) == 0 ? found.dlfo_map_start : nullptr;
}

// The share of thread `number` of `threads`; all shares add up to `whole`.
uint64_t share(uint64_t whole, uint32_t number, uint32_t threads) noexcept {
    return whole / threads + (number < whole % threads ? 1 : 0);
}

// Measures the cost of the littering between construction and `finish`.
class Meter {
  public:
    Meter(const reap_litter_header &header, reap_litter_report &report, uint32_t thread) noexcept
        : report_(report), counter_(header) {
        getrusage(RUSAGE_THREAD, &before_);
        report_.begin_ns = now_ns();
        report_.pid = static_cast<uint32_t>(getpid());
        report_.thread = thread;
        report_.beside = thread > 0 ? 1 : 0; // until its creator is known to have waited
        // When a later thread starts, the program may have forbidden itself to open files.
        if (thread == 0) report_.resident_before = resident_bytes();
        __atomic_store_n(&report_.state, REAP_LITTER_BEGUN, __ATOMIC_RELEASE);
    }

    void finish(const LitterResult &result) noexcept {
        report_.failure = static_cast<uint32_t>(result.failure);
        report_.objects = result.objects;
        report_.bytes = result.bytes;
        report_.kept = result.kept;
        report_.kept_bytes = result.kept_bytes;
        if (report_.thread == 0) report_.resident_after = resident_bytes();
        rusage after{};
        getrusage(RUSAGE_THREAD, &after);
        report_.user_ns = nanoseconds(after.ru_utime) - nanoseconds(before_.ru_utime);
        report_.system_ns = nanoseconds(after.ru_stime) - nanoseconds(before_.ru_stime);
        report_.minor_faults = static_cast<uint64_t>(after.ru_minflt - before_.ru_minflt);
        report_.major_faults = static_cast<uint64_t>(after.ru_majflt - before_.ru_majflt);
        report_.voluntary_switches = static_cast<uint64_t>(after.ru_nvcsw - before_.ru_nvcsw);
        report_.involuntary_switches = static_cast<uint64_t>(after.ru_nivcsw - before_.ru_nivcsw);
        report_.end_ns = now_ns();
        report_.events = counter_.events();
        const bool failed = result.failure != REAP_LITTER_NO_FAILURE;
        __atomic_store_n(&report_.state, failed ? REAP_LITTER_FAILED : REAP_LITTER_DONE, __ATOMIC_RELEASE);
    }

  private:
    reap_litter_report &report_;
    EventCounter counter_;
    rusage before_{};
};

} // namespace

void Process::start(char **environment) noexcept {
    const char *path = find_variable(environment, REAP_LITTER_ENV);
    if (path == nullptr || !file_.open(path)) return;
    if (!is_target()) return file_.close();
    provider_ = provider_of("malloc");
    // The recorder forwards all calls, and finding the allocator behind it would allocate.
    const char *name = strrchr(provider_.file, '/');
    const bool recorded = name != nullptr && strcmp(name, "/libreap-record.so") == 0;
    glibc_ = (recorded && file_.header().over_glibc != 0) ||
             provider_.base == base_of(reinterpret_cast<const void *>(gnu_get_libc_version));
    // Only now, as the program may change its environment later.
    if (file_.header().children == 0) remove_traces(environment);
    litter_thread(0);
}

bool Process::is_target() const noexcept {
    const reap_litter_header &header = file_.header();
    struct stat self{};
    if (header.children != 0 || header.inode == 0 || stat("/proc/self/exe", &self) != 0) return true;
    return self.st_ino == header.inode && self.st_dev == header.device;
}

uint32_t Process::next_thread(const void *caller) noexcept {
    if (!file_.is_open() || file_.header().objects == 0) return 0;
    if (__atomic_load_n(&threads_, __ATOMIC_RELAXED) >= file_.header().threads) return 0;
    // An allocator may hold its locks while it starts a helper thread, which then could not allocate.
    const bool apart = !glibc_ && !provider_.executable;
    if (apart && base_of(caller) == provider_.base) return 0;
    const uint32_t number = __atomic_fetch_add(&threads_, 1, __ATOMIC_RELAXED);
    return number < file_.header().threads ? number : 0;
}

void Process::stop_littering_threads() noexcept {
    __atomic_store_n(&threads_, file_.header().threads, __ATOMIC_RELAXED);
}

void Process::set_creator_waited(reap_litter_report *report, bool waited) noexcept {
    if (report != nullptr) report->beside = waited ? 0 : 1;
}

reap_litter_report *Process::litter_thread(uint32_t number) noexcept {
    const ErrnoGuard keep;
    const reap_litter_header &header = file_.header();
    reap_litter_report *const kept = file_.next_report();
    reap_litter_report lost{};
    reap_litter_report *const report = kept != nullptr ? kept : &lost;
    ask_callgrind(CallgrindRequest::Stop);
    const char *provider = provider_.file;
    const size_t length = strlen(provider);
    if (length >= sizeof report->provider) provider += length + 1 - sizeof report->provider;
    memcpy(report->provider, provider, strlen(provider));

    Meter meter(header, *report, number);
    LitterResult result;
    // The first thread decides for all.
    if (header.objects > 0 && number == 0 && header.needed_bytes >= available_bytes()) {
        stop_littering_threads();
        result.failure = REAP_LITTER_REFUSED;
    } else if (header.objects > 0) {
        constexpr uint64_t kStep = UINT64_C(0xd1342543de82ef95); // odd: every thread has a different seed
        const LitterPlan plan{file_.sizes(),
                              header.size_count,
                              share(header.objects, number, header.threads),
                              share(header.kept, number, header.threads),
                              header.seed + number * kStep,
                              static_cast<reap_litter_order>(header.order),
                              header.touch != 0};
        result = litter(plan, {malloc, free, glibc_ ? settle_glibc : [] {}});
        settle_others();
    }
    meter.finish(result);
    // Under callgrind, counting starts here with the program.
    ask_callgrind(CallgrindRequest::Start);
    return kept;
}

void Process::count_deepbind() const noexcept {
    if (file_.is_open()) file_.count_deepbind();
}

} // namespace reap::preload
