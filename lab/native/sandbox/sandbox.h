// Processes without rights that parse what a measured program, or a file of others, controls.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sandbox/channel.h"
#include "sandbox/confine.h"

namespace reap::native {

// A sandbox gave no answer. The message is the end of a sentence about what it was to read.
class SandboxFailure : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Failure to start a sandbox: no file is to blame.
class NoSandbox : public SandboxFailure {
  public:
    using SandboxFailure::SandboxFailure;
};

// Opens a regular file, in a sandbox by the process that it belongs to. Returns -1 with errno.
int open_for_reader(const std::string &path);

// A child that answers requests, one at a time. It is forked by the first request, and again by the first
// after one that it did not survive. Its rights are those of `confine`; files are opened for it. Under a
// sanitizer or Valgrind, which see more so, this process answers. Not for several threads at a time.
class Sandbox {
  public:
    // Answers a request; may throw.
    using Serve = std::function<std::string(std::string_view request)>;
    // Opens a file that it asks for, which may be any: returns -1 with errno for one that it is not to have.
    using Open = std::function<int(const std::string &path)>;

    struct Limits {
        // And four times as much as the files take that it asks for: it raises that limit by itself, so that
        // one taken over may raise it to 64 GiB. Root's processes are nobody's, whose limits root cannot
        // raise in most containers, without CAP_SYS_RESOURCE.
        uint64_t memory = UINT64_C(1) << 30;
        std::chrono::milliseconds time{60'000}; // of a request
    };

    // `begin` is called in the child.
    Sandbox(std::function<Serve()> begin, Open open, Limits limits);
    Sandbox(std::function<Serve()> begin, Open open) : Sandbox(std::move(begin), std::move(open), Limits{}) {}
    ~Sandbox();
    Sandbox(const Sandbox &) = delete;
    Sandbox &operator=(const Sandbox &) = delete;

    // Throws SandboxFailure, which may be a NoSandbox. Some 10 us. A request may have 4 GiB, an answer 128
    // MiB.
    std::string call(std::string_view request);

    // Of the child, 0 if there is none.
    [[nodiscard]] pid_t process() const noexcept { return process_; }
    // What the child could give up; false of all before there was one.
    [[nodiscard]] const Confinement &confinement() const noexcept { return confinement_; }

  private:
    void start();
    void stop() noexcept;
    [[noreturn]] void fail(Passed passed);
    std::string answer_here(std::string_view request);
    std::string wait_for_answer(Deadline deadline);
    Passed open_for_child(uint32_t length, Deadline deadline);

    std::function<Serve()> begin_;
    Open open_;
    Limits limits_;
    Serve here_; // where this process answers
    int socket_ = -1;
    pid_t process_ = 0;
    pid_t owner_ = 0; // whose child it is: a copy of that process has this object, too
    Confinement confinement_;
};

} // namespace reap::native
