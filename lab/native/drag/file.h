// A drag recording: the objects of one process, told in the order in which they came and went. Trusts nothing
// in the file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "reap_drag.h"

namespace reap::native {

// Sums of bytes times bytes: exact, and above 64 bits for programs of a few GiB.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the compilers' own name
__extension__ using Area = unsigned __int128;

// Objects are what the program asked for last: blocks, and what pools carved out of them instead of those
// blocks. Chunks are blocks of the malloc family, whatever is in them, and mappings that pools carve.
enum class DragLevel : uint8_t { Objects, Chunks };

enum class DragKind : uint8_t { Block, Pooled, Mapping };

// Which accesses an object is needed for: the code that frees an object may access it to find the next one,
// or to take it out of a list.
enum class DragAccess : uint8_t { All, BeforeFree };

// A step of the clock: an allocation. Places count from 0 in a file.
struct DragStep {
    size_t place;
    uint64_t size;
    uint32_t stack;
    DragKind kind;
};

// An object's end; of a mapping, that of so many of its bytes.
struct DragLife {
    uint64_t size;
    uint32_t birth; // place of the step that made it
    uint32_t last;  // place of the last step in which it was needed; not before its birth
    uint32_t used;  // the same without the accesses that are part of its free; not after `last`
    uint32_t freed; // place of the last step that it took part in
    uint32_t stack;
    uint8_t flags; // enum reap_drag_object
    DragKind kind;
    bool carved; // of a mapping: objects had been put into it by then
    bool whole;  // nothing is left of it
};

// Told of a recording's steps and ends, in their order.
class DragVisitor {
  public:
    DragVisitor() = default;
    DragVisitor(const DragVisitor &) = delete;
    DragVisitor &operator=(const DragVisitor &) = delete;
    virtual ~DragVisitor() = default;
    virtual void step(const DragStep &step) = 0;
    virtual void ended(const DragLife &life) = 0;
};

struct DragFrame {
    uint32_t module; // 0: none is known
    uint64_t address;
};

// How the process ended, as far as its file says.
enum class DragEnd : uint8_t { Exited, Exec, Killed };

// Steps that are looked at together. Few objects are accessed last in an earlier window than that of their
// end: each was in use between two windows, and a window has four times as many steps as there are objects
// in use at its end.
struct DragWindow {
    size_t begin;
    std::vector<DragLife> late; // accessed last here, and ended later
};

class DragBytes;

// A file is walked through several times; what is in memory is a table of the objects in use, the late ones,
// and a bit for each step where pools carved blocks.
class DragFile {
  public:
    static constexpr size_t kWindow = size_t{1} << 20;

    // Throws std::system_error when it cannot be read and BadTrace when it is no drag recording. `window` is
    // the least number of steps in one. Where only accesses before the free count, each life's `last` is its
    // `used`.
    explicit DragFile(const std::string &path, size_t window = kWindow, DragAccess access = DragAccess::All);
    ~DragFile();
    DragFile(const DragFile &) = delete;
    DragFile &operator=(const DragFile &) = delete;

    [[nodiscard]] const reap_drag_header &header() const noexcept { return header_; }
    // What was allocated: mappings are none.
    [[nodiscard]] size_t objects() const noexcept { return objects_; }
    [[nodiscard]] size_t steps() const noexcept { return steps_; }
    // Windows that follow on each other; the first begins at 0.
    [[nodiscard]] const std::vector<DragWindow> &windows() const noexcept { return windows_; }
    // All steps and ends once more; every object ends, at the latest with the file.
    void walk(DragVisitor &visitor) const;

    // What a step allocates at a level, and whether a life is one of it.
    [[nodiscard]] uint64_t bytes(const DragStep &step, DragLevel level) const;
    [[nodiscard]] bool counts(const DragLife &life, DragLevel level) const;
    [[nodiscard]] bool counts(const DragStep &step, DragLevel level) const;
    // All that was allocated at a level.
    [[nodiscard]] uint64_t bytes(DragLevel level) const noexcept {
        return bytes_[static_cast<size_t>(level)];
    }

    [[nodiscard]] const std::vector<std::string> &command() const noexcept { return command_; }
    [[nodiscard]] DragEnd end() const noexcept { return end_; }
    // Recording stopped before the program did: the clock or the disk was full.
    [[nodiscard]] bool full() const noexcept { return full_; }
    // The rest of the file made no sense and was passed over.
    [[nodiscard]] bool malformed() const noexcept { return malformed_; }
    [[nodiscard]] bool pooled() const noexcept { return pooled_; }
    // Some object was last accessed as part of its free.
    [[nodiscard]] bool released() const noexcept { return released_; }
    // The frames of a stack, innermost first; empty for one that the file does not have.
    [[nodiscard]] const std::vector<DragFrame> &frames(uint32_t stack) const;
    [[nodiscard]] const std::string &module(uint32_t number) const;

  private:
    class Mapping;
    class Survey;
    template <class Teller>
    class Reader;

    [[nodiscard]] bool carved(size_t place) const noexcept {
        return place < carved_.size() && carved_[place];
    }

    std::unique_ptr<DragBytes> file_;
    reap_drag_header header_{};
    std::map<uint32_t, std::vector<DragFrame>> stacks_;
    std::map<uint32_t, std::string> modules_;
    std::vector<std::string> command_;
    std::vector<DragWindow> windows_;
    std::vector<bool> carved_;                      // blocks, by the place of their step
    std::unordered_map<size_t, uint64_t> mappings_; // what was left of one when it was first carved
    uint64_t bytes_[2] = {0, 0};
    size_t objects_ = 0;
    size_t steps_ = 0;
    DragEnd end_ = DragEnd::Killed;
    bool full_ = false;
    bool malformed_ = false;
    bool pooled_ = false;
    bool released_ = false;
    DragAccess access_;
};

} // namespace reap::native
