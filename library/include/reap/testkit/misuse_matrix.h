#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "reap/core/misuse.h"
#include "reap/core/size.h"
#include "reap/testkit/failing_source.h"
#include "reap/testkit/subject.h"

// Written by clang's coverage, and by nothing else.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" [[gnu::weak]] int __llvm_profile_write_file();

// Performs each kind of misuse that applies to an allocator, each in a separate process: detection may end
// the program, and undetected misuse may leave anything behind.

namespace reap::inline REAP_MODE::testkit {

/// One misuse at one size.
struct MisuseCell {
    enum Outcome : std::uint8_t {
        not_applicable, ///< the subject has no such call, or no object of that size
        missed,         ///< nothing was reported
        found,          ///< it was reported, under its own name
        misnamed,       ///< it was reported, under another name
        ended,          ///< the program was ended, by a sanitizer or by the system
    };

    Misuse what;
    bool by_reading;
    std::size_t size;
    Outcome outcome = not_applicable;
    std::string said; ///< the report, verbatim
};

/// All cells of one subject.
class MisuseMatrix {
  public:
    explicit MisuseMatrix(std::vector<MisuseCell> cells) : cells_(std::move(cells)) {}

    [[nodiscard]] std::span<const MisuseCell> cells() const noexcept { return cells_; }
    /// The number of applicable cells, of the writing or of the reading ones.
    [[nodiscard]] std::size_t applicable(bool by_reading) const noexcept {
        return count(by_reading, [](auto outcome) { return outcome != MisuseCell::not_applicable; });
    }
    /// The number of these in which the misuse was detected, under whatever name.
    [[nodiscard]] std::size_t noticed(bool by_reading) const noexcept {
        return count(by_reading, [](auto outcome) { return outcome > MisuseCell::missed; });
    }
    /// A line per misuse, a character per size: `+` found, `~` found under another name, `!` the program was
    /// ended, `-` missed, `.` not applicable.
    [[nodiscard]] std::string to_string() const {
        std::string all;
        for (std::size_t at = 0; at < cells_.size(); ++at) {
            const MisuseCell &cell = cells_[at];
            const bool first =
                at == 0 || cells_[at - 1].what != cell.what || cells_[at - 1].by_reading != cell.by_reading;
            if (first) {
                if (at > 0) all += '\n';
                std::string line = reap::to_string(cell.what);
                if (cell.by_reading) line.replace(0, line.find(' '), "read");
                line.resize(66, ' ');
                all += "  " + line;
            }
            all += ".-+~!"[cell.outcome];
        }
        return all + '\n';
    }

  private:
    template <class Wanted>
    [[nodiscard]] std::size_t count(bool by_reading, Wanted wanted) const noexcept {
        std::size_t sum = 0;
        for (const auto &cell : cells_) sum += cell.by_reading == by_reading && wanted(cell.outcome);
        return sum;
    }

    std::vector<MisuseCell> cells_;
};

namespace detail {

/// What a byte holds, which may be closed to the program: no tool is told of this read.
[[gnu::no_sanitize_address]]
inline std::byte peek(const std::byte *at) noexcept {
    return *static_cast<const volatile std::byte *>(at);
}

/// Touches a byte in a way that the compiler cannot optimize out. What is written differs from what was
/// there: a hardened layer keeps random bits in freed objects, and any one value would be theirs now and
/// then.
inline void touch(std::byte *at, bool by_reading) noexcept {
    auto *const byte = static_cast<volatile std::byte *>(at);
    if (by_reading) {
        (void)*byte;
    } else {
        *byte = ~peek(at);
    }
}

/// Does one misuse. False where it does not apply. Neighbours stand on both sides, and the subject is used
/// further and ended afterwards, so that what looks late has its time to look.
inline bool misuse(AnySubject &subject, const FailingSource<> &upstream, const MisuseCell &cell) {
    const auto &can = subject.abilities();
    const Limits limits = subject.limits();
    const std::size_t alignment = std::min(alignof(std::max_align_t), limits.largest_alignment);
    if (cell.size < limits.smallest || cell.size > limits.largest) return false;
    const auto take = [&] { return static_cast<std::byte *>(subject.allocate(cell.size, alignment).data); };

    // Memory returned to the source is no longer the subject's to watch.
    const auto is_gone = [&upstream](const std::byte *at) {
        return upstream.requests() > 0 && !upstream.holds(at);
    };

    const std::size_t early = can.marks ? subject.mark() : no_mark;
    std::byte *const before = take();
    const Allocation got = subject.allocate(cell.size, alignment);
    auto *const object = static_cast<std::byte *>(got.data);
    if (before == nullptr || object == nullptr) return false;
    std::memset(before, 1, cell.size);
    std::memset(object, 2, cell.size);

    switch (cell.what) {
    case Misuse::overflow:
        touch(object + std::max(got.size, cell.size), cell.by_reading);
        subject.deallocate(object, cell.size, alignment);
        break;
    case Misuse::underflow:
        touch(object - 1, cell.by_reading);
        subject.deallocate(object, cell.size, alignment);
        break;
    case Misuse::use_after_free:
        subject.deallocate(object, cell.size, alignment);
        if (is_gone(object)) return false;
        touch(object, cell.by_reading);
        break;
    case Misuse::use_after_rewind:
        if (!can.marks || !subject.rewind(early)) return false;
        if (is_gone(object)) return false;
        touch(object, cell.by_reading);
        break;
    case Misuse::use_after_reset:
        if (!can.resets) return false;
        subject.reset();
        if (is_gone(object)) return false;
        touch(object, cell.by_reading);
        break;
    case Misuse::double_free:
        subject.deallocate(object, cell.size, alignment);
        subject.deallocate(object, cell.size, alignment);
        break;
    case Misuse::foreign_free: {
        alignas(64) static std::byte stranger[4096];
        subject.deallocate(stranger + 1024, cell.size, alignment);
        break;
    }
    case Misuse::wrong_size:
        if (!can.told_sizes) return false;
        // Far more than was allocated: a little more may be what a source gives in fact.
        subject.deallocate(object, got.size + (std::size_t{1} << 20), alignment);
        break;
    case Misuse::stale_mark: {
        if (!can.marks) return false;
        const std::size_t late = subject.mark();
        if (!subject.rewind(early)) return false;
        // A caller that is told has detected it.
        if (!subject.rewind(late)) report_misuse({Misuse::stale_mark, nullptr, 0, "rewind() is false"});
        break;
    }
    case Misuse::interior_free:      // to most layers a foreign one
    case Misuse::corruption:         // where to, the layer's own tests know
    case Misuse::skipped_destructor: // the same
        return false;
    }
    for (int more = 0; more < 4; ++more) (void)take();
    return true;
}

/// Where the child writes what its handler is told.
inline int report_to = -1;

/// Ends a child without the destructors of statics, which are the parent's; its coverage data is kept.
[[noreturn]] inline void end(int status) {
    if (__llvm_profile_write_file != nullptr) __llvm_profile_write_file();
    ::_exit(status);
}

inline MisuseCell judge(const Factory &make, MisuseCell cell) {
    int ends[2];
    if (::pipe(ends) != 0) return cell;
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], STDERR_FILENO);
        report_to = ends[1];
        set_misuse_handler([](const MisuseReport &report) {
            char line[160];
            const int length =
                std::snprintf(line, sizeof line, "\nreap:%d:%s: %s", static_cast<int>(report.what),
                              report.layer, reap::to_string(report.what));
            if (length < 0 || ::write(report_to, line, static_cast<std::size_t>(length)) < 0) end(1);
            end(2);
        });
        bool applies = false;
        {
            FailingSource<> upstream;
            const auto subject = make(upstream);
            applies = misuse(*subject, upstream, cell);
        }
        end(applies ? 0 : 3);
    }
    ::close(ends[1]);
    std::string said;
    char part[512];
    for (ssize_t length = 0; (length = ::read(ends[0], part, sizeof part)) > 0;)
        said.append(part, static_cast<std::size_t>(length));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);

    if (const auto at = said.rfind("\nreap:");
        at != std::string::npos && WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        int what = -1;
        std::from_chars(said.data() + at + 6, said.data() + said.size(), what);
        cell.outcome = what == static_cast<int>(cell.what) ? MisuseCell::found : MisuseCell::misnamed;
        cell.said = said.substr(said.find(':', at + 6) + 1);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
        cell.outcome = MisuseCell::not_applicable;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        cell.outcome = MisuseCell::missed;
    } else {
        cell.outcome = MisuseCell::ended;
        const auto line = said.find("ERROR");
        cell.said = said.substr(line == std::string::npos ? 0 : line, 100);
        cell.said = cell.said.substr(0, cell.said.find('\n'));
    }
    return cell;
}

} // namespace detail

/// Does every misuse to objects of these sizes, as far as the subject has them, each in a forked process: by
/// writing, and where a tool watches every access also by reading, which leaves no trace for anybody else. A
/// few milliseconds a cell, ten times that under AddressSanitizer.
[[nodiscard]] inline MisuseMatrix misuse_matrix(const Factory &make, std::span<const std::size_t> sizes,
                                                bool with_reads = REAP_ASAN != 0) {
    FailingSource<> upstream;
    const Limits limits = make(upstream)->limits();
    std::vector<std::size_t> had;
    for (const std::size_t size : sizes) {
        const std::size_t possible = std::clamp(size, limits.smallest, limits.largest);
        if (had.empty() || had.back() != possible) had.push_back(possible);
    }
    std::vector<MisuseCell> cells;
    for (int what = 0; what <= static_cast<int>(Misuse::stale_mark); ++what) {
        const auto misuse = static_cast<Misuse>(what);
        const bool is_access = misuse <= Misuse::use_after_reset;
        for (const bool by_reading : {false, true}) {
            if (by_reading && !(is_access && with_reads)) continue;
            for (const std::size_t size : had)
                cells.push_back(
                    detail::judge(make, {misuse, by_reading, size, MisuseCell::not_applicable, {}}));
        }
    }
    return MisuseMatrix(std::move(cells));
}

/// The same for sizes from small to large.
[[nodiscard]] inline MisuseMatrix misuse_matrix(const Factory &make) {
    constexpr std::size_t sizes[] = {1, 8, 16, 40, 64, 200, 5000, std::size_t{600} << 10};
    return misuse_matrix(make, sizes);
}

} // namespace reap::inline REAP_MODE::testkit
