// Stacks of a running process with the Python functions that its CPython executes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "attach/probe/program.h"
#include "attach/python/codes.h"
#include "attach/python/interpreter.h"
#include "attach/recording.h"
#include "attach/target.h"
#include "attach/unwinder.h"

namespace reap::native {

class PythonStacks {
  public:
    // `wanted`: else stacks have none.
    PythonStacks(Target &target, bool wanted);

    // What the program of a probe reads; null: nothing.
    [[nodiscard]] const PythonPlaces *places() const noexcept;
    // From now on stacks have none.
    void refuse(reap_unknown_code why) noexcept;
    // As `kept_main_thread`.
    [[nodiscard]] uint64_t main_thread() const;

    // Reads what is not known of a sample, as soon as it was taken.
    void see(const ProbeSample &sample);
    // Its stack, innermost first: the functions are where a call of the interpreter was. Where the two do not
    // fit together it is the native one. Valid until the next call.
    const std::vector<uint64_t> &merge(const ProbeSample &sample, const Unwinder::Stack &stack,
                                       AttachedRecording &recording);

  private:
    void note(AttachedRecording &recording);
    uint64_t location(const SampledFrame &frame, AttachedRecording &recording);

    pid_t process_;
    PythonInterpreter python_;           // of no version where the process runs none
    std::unique_ptr<PythonCodes> codes_; // null: stacks have no functions
    bool noted_ = false;
    std::vector<const SampledFrame *> sampled_;
    std::vector<format::PythonFrame> frames_;
    std::vector<format::PythonRange> ranges_;
    std::vector<uint64_t> merged_;
    std::map<std::pair<const PythonCode *, uint32_t>, uint32_t> locations_; // by code and line
};

} // namespace reap::native
