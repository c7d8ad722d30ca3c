// What an image says of the files that are its code, and of programs that are executed without it.
#include "image.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "build_id.h"
#include "calls/own_slots.h"
#include "output/launcher_client.h"
#include "output/mapped_path.h"

namespace reap::preload {

void Image::define_module(uint64_t address) noexcept {
    if (modules_[__atomic_load_n(&latest_module_, __ATOMIC_RELAXED)].contains(address)) return;
    dl_find_object found{};
    if (_dl_find_object(reinterpret_cast<void *>(address), &found) != 0) return;
    const auto start = reinterpret_cast<uint64_t>(found.dlfo_map_start);
    const uint32_t known = __atomic_load_n(&module_count_, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < known; ++i) {
        if (modules_[i].start != start || modules_[i].link_map != found.dlfo_link_map) continue;
        __atomic_store_n(&latest_module_, i, __ATOMIC_RELAXED);
        return;
    }
    const LockGuard guard(definitions_lock_);
    for (uint32_t i = 0; i < module_count_; ++i) {
        if (modules_[i].start == start && modules_[i].link_map == found.dlfo_link_map) return;
    }
    if (module_count_ == kMaxModules) return;
    const auto finish = reinterpret_cast<uint64_t>(found.dlfo_map_end);
    modules_[module_count_] = {start, finish, found.dlfo_link_map};
    if (trace_.merges_python() && python_.look_at(found.dlfo_link_map)) note_python(REAP_UNKNOWN_VERSION);

    static uint8_t body[kMaxPath + kMostBuildId + 64];
    static uint8_t build_id[kMostBuildId];
    static char executable[kMaxPath];
    const char *name = found.dlfo_link_map->l_name;
    const char *path = name;
    size_t length = strnlen(name, kMaxPath);
    if (length == 0) { // the loader does not name the executable
        name = path = executable;
        // Executed by name, the loader itself is the executable, and the program a file that it has mapped.
        if (getauxval(AT_BASE) == 0) length = read_mapped_path(address, executable, sizeof executable);
        if (length == 0) {
            path = "/proc/self/exe";
            const ssize_t linked = readlink(path, executable, sizeof executable);
            length = linked > 0 ? static_cast<size_t>(linked) : 0;
        }
    }
    uint8_t *end = format::put_varint(body, module_count_);
    end = format::put_varint(end, start);
    end = format::put_varint(end, finish);
    end = format::put_varint(end, found.dlfo_link_map->l_addr);
    end = format::put_string(end, name, length);
    const size_t known_bytes =
        trace_.in_sandbox() ? 0 : read_build_id(start, finish, found.dlfo_link_map->l_addr, build_id);
    end = format::put_string(end, reinterpret_cast<const char *>(build_id), known_bytes);
    end = format::put_varint(end, own_functions_of(found.dlfo_link_map));
    const auto size = static_cast<size_t>(end - body);
    if (uint8_t *out = definitions_.begin(trace_, REAP_BLOCK_DEFINITIONS, process(), size + 16)) {
        definitions_.commit(RecordStream::put_long(out, REAP_TAG_MODULE, body, size));
    }
    __atomic_store_n(&module_count_, module_count_ + 1, __ATOMIC_RELEASE);
    lend(path, name, length);
}

namespace {

bool begins_with(const char *text, const char *beginning) noexcept {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

// Files of the distribution: there are many, and few are replaced while a program runs.
bool is_of_the_system(const char *name) noexcept {
    return begins_with(name, "/lib") || (begins_with(name, "/usr/") && !begins_with(name, "/usr/local/")) ||
           begins_with(name, "/bin/") || begins_with(name, "/sbin/");
}

} // namespace

void Image::lend(const char *path, const char *name, size_t length) noexcept {
    if (trace_.in_sandbox() || socket_[0] == '\0' || length == 0 || is_of_the_system(name)) return;
    lend_file(socket_, path, name, length);
}

// Finds modules outside our lock: before glibc 2.35 that takes the loader's, and who has that may define one.
void Image::forget_closed_modules() noexcept {
    if (state_ != State::Running) return;
    const uint32_t known = __atomic_load_n(&module_count_, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < known; ++i) {
        Module &module = modules_[i];
        const uint64_t start = __atomic_load_n(&module.start, __ATOMIC_ACQUIRE);
        if (start == 0) continue;
        dl_find_object found{};
        const bool there = _dl_find_object(reinterpret_cast<void *>(start), &found) == 0 &&
                           found.dlfo_link_map == module.link_map;
        if (there) continue;
        const LockGuard guard(definitions_lock_);
        if (module.end == 0) continue; // another thread was first
        stacks_.invalidate(module.start, module.end);
        __atomic_store_n(&module.end, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&module.start, 0, __ATOMIC_RELEASE);
    }
}

void Image::before_load(const char *file) noexcept {
    if (state_ != State::Running) return;
    trace_.note_load();
    before_open(file);
    // Most programs close the descriptor of such a file once the library is loaded.
    if (file != nullptr && (begins_with(file, "/proc/") || begins_with(file, "/dev/fd/")))
        lend(file, file, strnlen(file, kMaxPath));
    if (!unwinder_.missed_unload()) return;
    unwinder_.before_unload();
    forget_closed_modules();
    unwinder_.after_unload();
}

void Image::note_unrecorded(uint32_t pid, const char *path, uint32_t reason) noexcept {
    if (state_ != State::Running) return;
    const LockGuard guard(definitions_lock_);
    static uint8_t body[kMaxPath + 32];
    // After vfork the pid differs from ours; in a sandbox it cannot be read.
    if (pid == 0) pid = trace_.in_sandbox() ? pid_ : static_cast<uint32_t>(getpid());
    uint8_t *end = format::put_varint(body, uint64_t{pid});
    end = format::put_varint(end, reason);
    end = format::put_string(end, path, strnlen(path, kMaxPath));
    const auto size = static_cast<size_t>(end - body);
    if (uint8_t *out = definitions_.begin(trace_, REAP_BLOCK_DEFINITIONS, process(), size + 16)) {
        definitions_.commit(RecordStream::put_long(out, REAP_TAG_UNRECORDED, body, size));
    }
}

} // namespace reap::preload
