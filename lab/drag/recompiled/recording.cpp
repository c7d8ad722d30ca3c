#include "recording.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reap::drag {

bool Recording::open(const char *folder, uint32_t base, uint32_t flags) noexcept {
    constexpr int kMostPrograms = 1000;
    const int pid = static_cast<int>(syscall(SYS_getpid));
    long file = -EEXIST;
    for (int turn = 0; file == -EEXIST && turn < kMostPrograms; ++turn) {
        const int length = snprintf(name_, sizeof name_, "%s/%d.%d.drag", folder, pid, turn);
        if (length < 0 || static_cast<size_t>(length) >= sizeof name_) return false;
        const long made = syscall(SYS_openat, AT_FDCWD, name_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        file = made < 0 ? -errno : made;
    }
    if (file < 0) return false;
    // It is opened again later, when root may have become another user. The folder is not listed by others.
    constexpr long kEverybody = 0666;
    if (preload::raw_call(SYS_geteuid) == 0) preload::raw_call(SYS_fchmod, file, kEverybody);
    preload::close_quietly(static_cast<int>(file));
    if (has_stack_ == nullptr) has_stack_ = static_cast<uint8_t *>(preload::map_private(kMostStacks / 8));
    if (has_stack_ == nullptr) return false;
    offset_ = 0;
    used_ = 0;
    written_ = 0;
    module_count_ = 0;
    base_ = base;
    pid_ = pid;
    if (!map_window()) return false;
    const reap_drag_header header = {REAP_DRAG_MAGIC, static_cast<uint32_t>(pid),
                                     static_cast<uint32_t>(syscall(SYS_getppid)), base, flags};
    memcpy(window_, &header, sizeof header);
    used_ = sizeof header;
    command();
    return true;
}

namespace {

// Has the kernel take pages for these bytes of a file in large pieces. To fault them in by one costs five
// times as much, on ext4 of a new Linux; what fails here is done so.
void take_pages(int file, uint64_t begin, uint64_t end) noexcept {
    static char zeros[65536];
    for (uint64_t at = begin; at < end;) {
        const uint64_t size = end - at < sizeof zeros ? end - at : sizeof zeros;
        const long wrote = syscall(SYS_pwrite64, file, zeros, size, at);
        if (wrote <= 0) return;
        at += static_cast<uint64_t>(wrote);
    }
}

} // namespace

// Opened again each time: a program that closes all files must not make us write into one of its own.
bool Recording::map_window() noexcept {
    const int file = preload::open_shared(name_);
    void *memory = MAP_FAILED;
    const size_t kept = (used_ + kPage - 1) & ~(kPage - 1); // of the window before
    if (file >= 0 && preload::allocate_space(file, offset_ + kept, kWindow - kept) == 0) {
        take_pages(file, offset_ + kept, offset_ + kWindow);
        memory =
            mmap(nullptr, kWindow, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset_));
        // MAP_POPULATE would have each page fault at its first write. Linux 5.14 has this.
        if (memory != MAP_FAILED) (void)!madvise(memory, kWindow, MADV_POPULATE_WRITE);
    }
    if (file >= 0) preload::close_quietly(file);
    if (window_ != nullptr) munmap(window_, kWindow);
    window_ = memory == MAP_FAILED ? nullptr : static_cast<uint8_t *>(memory);
    return window_ != nullptr;
}

// Whole pages move on; the part page at the end is mapped again.
bool Recording::move_window() noexcept {
    const size_t whole = used_ & ~(kPage - 1);
    offset_ += whole;
    used_ -= whole;
    return map_window();
}

void Recording::number(uint64_t value) noexcept {
    used_ = static_cast<size_t>(format::put_varint(window_ + used_, value) - window_);
}

void Recording::text(const char *words, size_t size) noexcept {
    number(size);
    memcpy(window_ + used_, words, size);
    used_ += size;
}

void Recording::command() noexcept {
    char words[kRoom / 2];
    const size_t size = preload::read_file("/proc/self/cmdline", words, sizeof words);
    if (!reserve(kRoom)) return;
    byte(REAP_DRAG_COMMAND);
    text(words, size);
}

// The number of the file that an address lies in, and the address as its symbols have it.
uint32_t Recording::module_of(uint64_t address, uint64_t *inside) noexcept {
    *inside = address;
    dl_find_object found{};
    if (_dl_find_object(reinterpret_cast<void *>(address), &found) != 0) return 0;
    const link_map *map = found.dlfo_link_map;
    *inside = address - map->l_addr;
    for (uint32_t i = 0; i < module_count_; ++i) {
        if (modules_[i] == map) return i + 1;
    }
    if (module_count_ == kMaxModules) return 0;
    modules_[module_count_++] = map;
    char executable[kRoom / 2];
    const char *name = map->l_name;
    size_t length = strnlen(name, sizeof executable);
    if (length == 0) { // the loader leaves the main program without a name
        const long linked = readlink("/proc/self/exe", executable, sizeof executable - 1);
        executable[linked > 0 ? linked : 0] = '\0';
        name = executable;
        length = strnlen(executable, sizeof executable);
    }
    byte(REAP_DRAG_MODULE);
    number(module_count_);
    text(name, length);
    return module_count_;
}

uint32_t Recording::interned(const Stack &stack) noexcept {
    uint32_t id = 0;
    for (uint32_t i = stack.depth; i > 0; --i) {
        uint32_t next = stacks_.find(id, stack.frames[i - 1]);
        if (next == 0) next = stacks_.add(id, stack.frames[i - 1]);
        if (next == 0 || next >= kMostStacks) return 0;
        id = next;
    }
    return id;
}

uint32_t Recording::number_of(const Stack &stack) noexcept {
    const uint32_t id = interned(stack);
    if (id != 0) seen_.add(stack.hash, id);
    uint8_t &known = has_stack_[id / 8];
    const auto bit = static_cast<uint8_t>(1u << id % 8);
    if ((known & bit) != 0) return id;
    known |= bit;
    uint32_t modules[Stack::kMost];
    uint64_t inside[Stack::kMost];
    for (uint32_t i = 0; i < stack.depth; ++i) {
        if (!reserve(kRoom)) return id;
        modules[i] = module_of(stack.frames[i], &inside[i]);
    }
    if (!reserve(kRoom)) return id;
    byte(REAP_DRAG_STACK);
    number(id);
    number(stack.depth);
    for (uint32_t i = 0; i < stack.depth; ++i) {
        number(modules[i]);
        number(inside[i]);
    }
    return id;
}

void Recording::full() noexcept {
    if (reserve(32)) byte(REAP_DRAG_FULL);
}

void Recording::finish(reap_drag_end how) noexcept {
    if (!reserve(32)) return;
    byte(REAP_DRAG_END);
    number(how);
    if (how != REAP_DRAG_EXITED) return;
    const int file = preload::open_shared(name_);
    if (file >= 0) {
        (void)!ftruncate(file, static_cast<off_t>(offset_ + used_));
        preload::close_quietly(file);
    }
    forget();
}

void Recording::resume() noexcept {
    if (reserve(32)) byte(REAP_DRAG_RESUME);
}

bool Recording::is_of_this_process() const noexcept { return pid_ == syscall(SYS_getpid); }

void Recording::forget() noexcept {
    if (window_ != nullptr) munmap(window_, kWindow);
    window_ = nullptr;
    seen_.clear();
    if (has_stack_ != nullptr) madvise(has_stack_, kMostStacks / 8, MADV_DONTNEED); // zeros again
}

} // namespace reap::drag
