// Stacks of another process, from the registers and a copy of the top of the stack of one of its threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "attach/probe/program.h"
#include "attach/target.h"

namespace reap::native {

// By the unwind tables of the files that are mapped (.eh_frame, through libdw); code without a table, as a
// JIT makes it, is passed by its frame pointers.
class Unwinder {
  public:
    explicit Unwinder(pid_t process);
    ~Unwinder();
    Unwinder(const Unwinder &) = delete;
    Unwinder &operator=(const Unwinder &) = delete;

    // From now on these files are mapped.
    void map(const std::vector<MappedFile> &files);

    struct Stack {
        std::vector<uint64_t> callers; // return addresses, innermost first
        std::vector<uint64_t> begins;  // the stack pointers at which their frames begin
        bool whole = false;            // the outermost is the first function of the thread
    };
    // Some 10 us for each frame. Valid until the next call.
    const Stack &unwind(const ProbeSample &sample);

  private:
    struct Session;
    std::unique_ptr<Session> session_;
};

} // namespace reap::native
