#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <fcntl.h>
#include <unistd.h>

// malloc and free as this program calls them; with a log, what lives is counted and written down.

/// A file of lines of equal length, one for every thousandth call of malloc or free: how many calls there
/// were, how many phases all threads have ended, bytes asked for and not freed, bytes resident.
///
/// Each line is written by a pwrite() of its own, of which there are no others in this program: whoever
/// traces calls sees by its offset which line it is, and so what had been asked of the system by then. It
/// allocates nothing.
class Log {
  public:
    static constexpr std::size_t every = 1000;
    static constexpr std::size_t length = 64;

    /// False, and a line on standard error, if the file cannot be made.
    bool open(const char *path, std::size_t threads) {
        threads_ = threads;
        statm_ = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
        file_ = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (file_ < 0) std::perror(path);
        return file_ >= 0;
    }
    [[nodiscard]] bool wanted() const { return file_ >= 0; }

    void allocated(std::size_t size) {
        live_ += size;
        called();
    }
    void freed(std::size_t size) {
        live_ -= size;
        called();
    }
    /// A thread is through with one of its phases.
    void ended_phase() { ++ended_; }
    /// What there is at the end, whatever the number of calls.
    void last() { write(calls_); }

  private:
    void called() {
        const std::size_t call = ++calls_;
        if (call % every == 0) write(call);
    }
    void write(std::size_t call) {
        char line[length + 1];
        const int used = std::snprintf(line, sizeof line, "%zu %zu %zu %zu", call, ended_ / threads_,
                                       live_.load(), resident());
        for (std::size_t at = static_cast<std::size_t>(used); at < length; ++at) line[at] = ' ';
        line[length - 1] = '\n';
        const std::size_t place = lines_++;
        if (::pwrite(file_, line, length, static_cast<off_t>(place * length)) < 0) std::perror("log");
    }
    [[nodiscard]] std::size_t resident() const {
        char said[128] = {};
        if (::pread(statm_, said, sizeof said - 1, 0) <= 0) return 0;
        char *second = nullptr; // the first number is of all that is mapped
        (void)std::strtoull(said, &second, 10);
        return std::strtoull(second, nullptr, 10) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    }

    int file_ = -1;
    int statm_ = -1;
    std::size_t threads_ = 1;
    std::atomic<std::size_t> calls_ = 0, live_ = 0, ended_ = 0, lines_ = 0;
};

inline Log
    log_file; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): one a process, as malloc is

inline void *allocate(std::size_t size) {
    void *const block = std::malloc(size);
    if (block == nullptr) {
        std::fputs("lists-and-trees: there is no memory\n", stderr);
        std::_Exit(1);
    }
    if (log_file.wanted()) log_file.allocated(size);
    return block;
}

inline void release(void *block, std::size_t size) {
    std::free(block);
    if (log_file.wanted()) log_file.freed(size);
}

/// The same for the nodes of lists and trees.
template <class T>
struct FromMalloc {
    using value_type = T;
    FromMalloc() = default;
    template <class Other>
    FromMalloc(const FromMalloc<Other> & /*same*/) {
    } // NOLINT(google-explicit-constructor): as containers convert it
    T *allocate(std::size_t count) { return static_cast<T *>(::allocate(count * sizeof(T))); }
    void deallocate(T *nodes, std::size_t count) { release(nodes, count * sizeof(T)); }
    bool operator==(const FromMalloc & /*other*/) const = default;
};
