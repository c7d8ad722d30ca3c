/* Which processes belong to a tree, as the kernel's records of forks tell.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_PERF_KNOWN_PROCESSES_H
#define REAP_SPAWN_PERF_KNOWN_PROCESSES_H

#include <sys/mman.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace reap::spawn {

/// A bit for each number that a process can have. Mapped, as most of its pages are never touched.
class KnownProcesses {
  public:
    KnownProcesses() = default;
    ~KnownProcesses() {
        if (words_ != nullptr) munmap(words_, bytes);
    }
    KnownProcesses(const KnownProcesses &) = delete;
    KnownProcesses &operator=(const KnownProcesses &) = delete;

    /// False if there is no memory for it; then it knows none.
    bool begin(pid_t root) {
        void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return false;
        words_ = static_cast<std::uint64_t *>(memory);
        put(static_cast<std::uint32_t>(root), true);
        return true;
    }

    bool has(std::uint32_t process) const {
        return words_ != nullptr && process < count && (words_[process / 64] >> process % 64 & 1) != 0;
    }

    /// A process was forked, whose number may have been that of another one.
    void add_fork(std::uint32_t process, std::uint32_t parent) { put(process, has(parent)); }

  private:
    static constexpr std::uint32_t count = 1 << 22; ///< the kernel's PID_MAX_LIMIT
    static constexpr std::size_t bytes = count / 8;

    void put(std::uint32_t process, bool known) {
        if (words_ == nullptr || process >= count) return;
        std::uint64_t &word = words_[process / 64];
        const std::uint64_t bit = std::uint64_t{1} << process % 64;
        word = known ? word | bit : word & ~bit;
    }

    std::uint64_t *words_ = nullptr;
};

} // namespace reap::spawn

#endif
