#include "ledger.h"

#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

namespace reap::drag {
namespace {

constexpr uint64_t kStep = 1024; // rows that the file grows by
constexpr uint64_t kLength = sizeof(reap_drag_samples) + Ledger::kMaxRows * sizeof(reap_drag_sample);

} // namespace

bool Ledger::open(const char *prefix) noexcept {
    constexpr int kMaxPrograms = 1000;
    const int pid = static_cast<int>(syscall(SYS_getpid));
    long file = -EEXIST;
    for (int program = 0; file == -EEXIST && program < kMaxPrograms; ++program) {
        const int length = program == 0 ? snprintf(name_, sizeof name_, "%s.%d", prefix, pid)
                                        : snprintf(name_, sizeof name_, "%s.%d.%d", prefix, pid, program);
        if (length < 0 || static_cast<size_t>(length) >= sizeof name_) return false;
        const long made = syscall(SYS_openat, AT_FDCWD, name_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        file = made < 0 ? -errno : made;
    }
    if (file < 0) return false;
    // It is opened again later, when root may have become another user. The folder is not listed by others.
    constexpr long kEverybody = 0666;
    if (preload::raw_call(SYS_geteuid) == 0) preload::raw_call(SYS_fchmod, file, kEverybody);
    void *memory = MAP_FAILED;
    if (preload::allocate_space(static_cast<int>(file), 0, sizeof *header_) == 0) {
        // Reserves all addresses at once: memory beyond the end of the file is not touched before it grows.
        memory = mmap(nullptr, kLength, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file), 0);
    }
    preload::close_quietly(static_cast<int>(file));
    if (memory == MAP_FAILED) {
        syscall(SYS_unlinkat, AT_FDCWD, name_, 0); // it is empty
        return false;
    }
    header_ = static_cast<reap_drag_samples *>(memory);
    rows_ = reinterpret_cast<reap_drag_sample *>(header_ + 1);
    room_ = 0;
    header_->pid = static_cast<uint32_t>(pid);
    header_->magic = REAP_DRAG_SAMPLES_MAGIC;
    const long length = readlink("/proc/self/exe", header_->program, sizeof header_->program - 1);
    header_->program[length > 0 ? length : 0] = '\0';
    return true;
}

bool Ledger::grow() noexcept {
    // Reopened each time: if a program closes all descriptors, we must not write to one of its files.
    const int file = preload::open_shared(name_);
    if (file < 0) return false;
    const uint64_t end = sizeof *header_ + room_ * sizeof *rows_;
    const bool grown = preload::allocate_space(file, end, kStep * sizeof *rows_) == 0;
    preload::close_quietly(file);
    if (grown) room_ += kStep;
    return grown;
}

uint32_t Ledger::add() noexcept {
    const uint64_t used = header_->rows;
    if (used == kMaxRows || (used == room_ && !grow())) return kNone;
    header_->rows = used + 1;
    return static_cast<uint32_t>(used);
}

void Ledger::forget() noexcept {
    if (header_ != nullptr) munmap(header_, kLength);
    header_ = nullptr;
}

} // namespace reap::drag
