// A drag recording: the objects of one process, and what their lives add up to. Trusts nothing in the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reap_drag.h"

namespace reap::native {

// Sums of bytes times bytes: exact, and above 64 bits for programs of a few GiB.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the compilers' own name
__extension__ using Area = unsigned __int128;

struct DragObject {
    uint64_t size;
    uint32_t stack;
    uint32_t last;  // clock of the last access; not before its birth
    uint32_t freed; // clock when it was freed, or the last of all
    uint8_t flags;  // enum reap_drag_object
    bool pooled;
};

struct DragFrame {
    uint32_t module; // 0: none is known
    uint64_t address;
};

// How the process ended, as far as its file says.
enum class DragEnd : uint8_t { Exited, Exec, Killed };

// Read whole: 24 bytes of memory for each allocation that the process made.
class DragFile {
  public:
    // Throws std::system_error when it cannot be read and BadTrace when it is no drag recording.
    explicit DragFile(const std::string &path);

    [[nodiscard]] const reap_drag_header &header() const noexcept { return header_; }
    // By serial from the file's first on: an object's birth is its place here and one more.
    [[nodiscard]] const std::vector<DragObject> &objects() const noexcept { return objects_; }
    [[nodiscard]] const std::vector<std::string> &command() const noexcept { return command_; }
    [[nodiscard]] DragEnd end() const noexcept { return end_; }
    // Recording stopped before the program did: the clock or the disk was full.
    [[nodiscard]] bool full() const noexcept { return full_; }
    // The rest of the file made no sense and was passed over.
    [[nodiscard]] bool malformed() const noexcept { return malformed_; }
    [[nodiscard]] bool pooled() const noexcept { return pooled_; }
    // The frames of a stack, innermost first; empty for one that the file does not have.
    [[nodiscard]] const std::vector<DragFrame> &frames(uint32_t stack) const;
    [[nodiscard]] const std::string &module(uint32_t number) const;

  private:
    class Reader;
    reap_drag_header header_{};
    std::vector<DragObject> objects_;
    std::map<uint32_t, std::vector<DragFrame>> stacks_;
    std::map<uint32_t, std::string> modules_;
    std::vector<std::string> command_;
    DragEnd end_ = DragEnd::Killed;
    bool full_ = false;
    bool malformed_ = false;
    bool pooled_ = false;
};

} // namespace reap::native
