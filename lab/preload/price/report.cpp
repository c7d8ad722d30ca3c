#include "report.h"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"
#include "reap_price.h"

namespace reap::preload {
namespace {

constexpr size_t kPage = 4096;

// From so many pages on, the time to free them is worth a measurement; the least of so many counts.
constexpr size_t kMeasuredPages = 64;
constexpr int kMeasurements = 4;

constinit reap_price_file *file;
constinit reap_price_slot unopened{}; // until the file is open
constinit reap_price_slot *slot = &unopened;
constinit uint64_t free_ps = UINT64_MAX; // (atomic) per page, in picoseconds
constinit int measurements;              // (atomic)

// Thread CPU time and faults between construction and `add_to`.
class Meter {
  public:
    Meter() noexcept : faults_(faults()), begin_(now()) {}

    // The CPU time so far, in nanoseconds.
    [[nodiscard]] uint64_t elapsed() const noexcept { return now() - begin_; }

    void add_to(reap_price_slot &to) const noexcept {
        __atomic_fetch_add(&to.touch_ns, elapsed(), __ATOMIC_RELAXED);
        __atomic_fetch_add(&to.touch_faults, faults() - faults_, __ATOMIC_RELAXED);
    }

  private:
    static uint64_t now() noexcept {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
    }
    static uint64_t faults() noexcept {
        rusage usage{};
        getrusage(RUSAGE_THREAD, &usage);
        return static_cast<uint64_t>(usage.ru_minflt);
    }

    uint64_t faults_;
    uint64_t begin_;
};

void claim_slot(uint64_t pid) noexcept {
    uint64_t number = __atomic_fetch_add(&file->next_slot, 1, __ATOMIC_RELAXED);
    if (number >= REAP_PRICE_SLOTS) number = REAP_PRICE_SLOTS - 1;
    slot = &file->slots[number];
    __atomic_store_n(&slot->pid, pid, __ATOMIC_RELAXED);
}

// The slot of this process, which a fork does not inherit.
reap_price_slot &own_slot() noexcept {
    const auto pid = static_cast<uint64_t>(raw_call(SYS_getpid));
    if (file != nullptr && __atomic_load_n(&slot->pid, __ATOMIC_RELAXED) != pid) claim_slot(pid);
    return *slot;
}

void populate(void *memory, size_t bytes) noexcept {
#ifndef MADV_POPULATE_WRITE
    constexpr int MADV_POPULATE_WRITE = 23; // Linux 5.14
#endif
    if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return;
    auto *const pages = static_cast<volatile unsigned char *>(memory);
    for (size_t at = 0; at < bytes; at += kPage) pages[at] = 0;
}

// The kernel frees pages when the process ends, when nobody can measure it.
REAP_COLD void measure_free(void *memory, size_t bytes) noexcept {
    __atomic_fetch_add(&measurements, 1, __ATOMIC_RELAXED);
    const Meter meter;
    madvise(memory, bytes, MADV_DONTNEED);
    const uint64_t rate = meter.elapsed() * 1000 / (bytes / kPage);
    if (rate < __atomic_load_n(&free_ps, __ATOMIC_RELAXED)) {
        __atomic_store_n(&free_ps, rate, __ATOMIC_RELAXED);
    }
    populate(memory, bytes);
}

size_t available_bytes() noexcept {
    char text[512];
    text[read_file("/proc/meminfo", text, sizeof text - 1)] = '\0';
    const char *at = strstr(text, "MemAvailable:");
    return at != nullptr ? strtoull(at + strlen("MemAvailable:"), nullptr, 10) * 1024 : 0;
}

} // namespace

void open_report() noexcept {
    const ErrnoGuard keep;
    const char *path = file == nullptr ? getenv(REAP_PRICE_ENV) : nullptr;
    const int descriptor = path != nullptr ? open_shared(path) : -1;
    if (descriptor < 0) return;
    void *const memory =
        mmap(nullptr, sizeof(reap_price_file), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    const bool whole = syscall(SYS_lseek, descriptor, 0, SEEK_END) == sizeof(reap_price_file);
    close_quietly(descriptor);
    if (memory == MAP_FAILED) return;
    auto *const mapped = static_cast<reap_price_file *>(memory);
    if (!whole || mapped->magic != REAP_PRICE_MAGIC) {
        munmap(memory, sizeof(reap_price_file));
        return;
    }
    file = mapped;
    if (unopened.touched == 0 && unopened.ended == 0) return;
    reap_price_slot &own = own_slot();
    __atomic_fetch_add(&own.touch_ns, unopened.touch_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&own.free_ns, unopened.free_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&own.touch_faults, unopened.touch_faults, __ATOMIC_RELAXED);
    __atomic_fetch_add(&own.touched, unopened.touched, __ATOMIC_RELAXED);
    __atomic_store_n(&own.ended, unopened.ended, __ATOMIC_RELAXED);
}

void touch_ahead(void *memory, size_t bytes) noexcept {
    const ErrnoGuard keep;
    const Meter meter;
    populate(memory, bytes);
    const size_t pages = bytes / kPage;
    if (pages >= kMeasuredPages && __atomic_load_n(&measurements, __ATOMIC_RELAXED) < kMeasurements) {
        measure_free(memory, bytes);
    }
    reap_price_slot &own = own_slot();
    meter.add_to(own);
    if (const uint64_t rate = __atomic_load_n(&free_ps, __ATOMIC_RELAXED); rate != UINT64_MAX) {
        __atomic_fetch_add(&own.free_ns, rate * pages / 1000, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&own.touched, bytes, __ATOMIC_RELAXED);
}

void report_end() noexcept {
    static uint64_t reported; // (atomic) the process that has
    const auto pid = static_cast<uint64_t>(raw_call(SYS_getpid));
    if (__atomic_exchange_n(&reported, pid, __ATOMIC_RELAXED) == pid) return;
    __atomic_store_n(&own_slot().ended, 1, __ATOMIC_RELAXED);
}

size_t most_bytes() noexcept {
    const ErrnoGuard keep;
    size_t most = available_bytes() / 2;
    if (const char *given = getenv(REAP_PRICE_BYTES_ENV)) {
        const size_t wanted = strtoull(given, nullptr, 10);
        if (wanted < most) most = wanted;
    }
    return most;
}

} // namespace reap::preload
