#include "sandbox/sandbox.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/file.h"
#include "files/regular.h"

namespace reap::native {
namespace {

enum : int { kNoMemory = 3, kThrown }; // beside kNoSocket

constexpr uint32_t kLongestAnswer = UINT32_C(128) << 20; // values made of it take up to ten times as much
constexpr uint64_t kMemoryOfFile = 4; // times what it has on the disk: sections may be compressed

bool is_child = false;
char (*paths)[PATH_MAX] = nullptr; // in the child: by descriptor, what it was opened by
thread_local const Sandbox::Open *opens_here = nullptr;

// In the child.
int open_outside(const char *path) {
    const size_t length = ::strnlen(path, PATH_MAX);
    const MessageHead asked{MessageKind::Open, static_cast<uint32_t>(length)};
    MessageHead head{};
    int opened = -1;
    if (send_message(kConfinedSocket, asked, {path, length}, -1, kNever) != Passed::Whole ||
        receive_head(kConfinedSocket, head, &opened, kNever) != Passed::Whole)
        ::_exit(0); // whoever asked is gone
    struct stat found{};
    if (opened >= 0 && ::fstat(opened, &found) == 0)
        allow_memory(static_cast<uint64_t>(found.st_blocks) * 512 * kMemoryOfFile);
    if (opened >= 0 && opened < kMostFiles && length < PATH_MAX) std::memcpy(paths[opened], path, length + 1);
    // A file that was opened comes without a descriptor where this process has too many.
    if (opened < 0) errno = head.length != 0 ? static_cast<int>(head.length) : EMFILE;
    return opened;
}

const char *path_of(int descriptor) {
    return descriptor < kMostFiles && *paths[descriptor] != '\0' ? paths[descriptor] : nullptr;
}

void answer(std::string_view bytes) {
    const MessageHead head{MessageKind::Answer, static_cast<uint32_t>(bytes.size())};
    if (send_message(kConfinedSocket, head, bytes, -1, kNever) != Passed::Whole) ::_exit(0);
}

// The whole life of a child.
[[noreturn]] void serve_requests(const std::function<Sandbox::Serve()> &begin, int socket, uint64_t memory) {
    try {
        is_child = true;
        paths =
            static_cast<char(*)[PATH_MAX]>(::mmap(nullptr, sizeof *paths * kMostFiles, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (paths == MAP_FAILED) ::_exit(kNoMemory);
        const Confinement confinement = confine(socket, memory, {open_outside, path_of});
        answer({reinterpret_cast<const char *>(&confinement), sizeof confinement});
        const Sandbox::Serve serve = begin();
        MessageHead head{};
        std::string request;
        while (receive_head(kConfinedSocket, head, nullptr, kNever) == Passed::Whole &&
               receive_bytes(kConfinedSocket, head.length, request, kNever) == Passed::Whole)
            answer(serve(request));
    } catch (const std::bad_alloc &) {
        ::_exit(kNoMemory);
    } catch (...) {
        ::_exit(kThrown);
    }
    ::_exit(0);
}

[[noreturn]] void throw_not_started(int error) {
    throw NoSandbox(std::string("no process could be started to read it: ") + std::strerror(error));
}

std::string seconds(std::chrono::milliseconds time) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + " s";
}

} // namespace

int open_for_reader(const std::string &path) {
    if (is_child) return open_outside(path.c_str());
    return opens_here != nullptr ? (*opens_here)(path) : open_regular(path);
}

Sandbox::Sandbox(std::function<Serve()> begin, Open open, Limits limits)
    : begin_(std::move(begin)), open_(std::move(open)), limits_(limits) {}

Sandbox::~Sandbox() { stop(); }

void Sandbox::stop() noexcept {
    if (process_ == 0) return;
    ::close(socket_);
    if (owner_ == ::getpid()) {
        ::kill(process_, SIGKILL); // what it still does is for nothing
        while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    process_ = 0;
}

void Sandbox::start() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_not_started(errno);
    const pid_t child = ::fork(); // with glibc's handlers: other threads may be in malloc
    if (child == 0) serve_requests(begin_, ends[1], limits_.memory);
    const int error = errno;
    ::close(ends[1]);
    if (child < 0) {
        ::close(ends[0]);
        throw_not_started(error);
    }
    socket_ = ends[0];
    process_ = child;
    owner_ = ::getpid();
    const std::string told = wait_for_answer(std::chrono::steady_clock::now() + limits_.time);
    if (told.size() == sizeof confinement_) std::memcpy(&confinement_, told.data(), sizeof confinement_);
}

void Sandbox::fail(Passed passed) {
    int status = 0;
    ::close(socket_);
    ::kill(process_, SIGKILL); // one that has ended keeps its status
    pid_t ended = 0;
    do {
        ended = ::waitpid(process_, &status, 0);
    } while (ended < 0 && errno == EINTR);
    process_ = 0;
    if (passed == Passed::Late)
        throw SandboxFailure("it took the reader longer than " + seconds(limits_.time));
    if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == kNoMemory)
        throw SandboxFailure("it took the reader more memory than it may have");
    if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == kNoSocket) throw_not_started(EMFILE);
    if (ended > 0 && WIFSIGNALED(status))
        throw SandboxFailure("it made the reader fail by signal " + std::to_string(WTERMSIG(status)));
    throw SandboxFailure("it made the reader fail");
}

Passed Sandbox::open_for_child(uint32_t length, Deadline deadline) {
    std::string path;
    if (length > PATH_MAX) return Passed::Ended; // nothing that a reader asks for
    if (const Passed passed = receive_bytes(socket_, length, path, deadline); passed != Passed::Whole)
        return passed;
    const Descriptor opened(open_(path));
    const MessageHead head{MessageKind::Opened, opened.get() >= 0 ? 0 : static_cast<uint32_t>(errno)};
    return send_message(socket_, head, {}, opened.get(), deadline);
}

std::string Sandbox::wait_for_answer(Deadline deadline) {
    while (true) {
        MessageHead head{};
        Passed passed = receive_head(socket_, head, nullptr, deadline);
        if (passed == Passed::Whole && head.kind == MessageKind::Open) {
            const bool late = std::chrono::steady_clock::now() > deadline; // it may ask again and again
            passed = late ? Passed::Late : open_for_child(head.length, deadline);
            if (passed == Passed::Whole) continue;
        }
        std::string bytes;
        if (passed == Passed::Whole && head.length > kLongestAnswer) passed = Passed::Ended;
        if (passed == Passed::Whole) passed = receive_bytes(socket_, head.length, bytes, deadline);
        if (passed == Passed::Whole) return bytes;
        fail(passed);
    }
}

std::string Sandbox::answer_here(std::string_view request) {
    struct Opening {
        explicit Opening(const Open &open) : before(opens_here) { opens_here = &open; }
        ~Opening() { opens_here = before; }
        Opening(const Opening &) = delete;
        Opening &operator=(const Opening &) = delete;
        const Open *before;
    };
    const Opening opening(open_);
    if (!here_) here_ = begin_();
    return here_(request);
}

std::string Sandbox::call(std::string_view request) {
    if (is_watched() || is_child) return answer_here(request);
    if (process_ != 0 && owner_ != ::getpid()) stop(); // it answers the process that this one is a copy of
    if (process_ != 0 && ::waitpid(process_, nullptr, WNOHANG) != 0) { // it ended since the last answer
        ::close(socket_);
        process_ = 0;
    }
    if (process_ == 0) start();
    const Deadline deadline = std::chrono::steady_clock::now() + limits_.time;
    const MessageHead head{MessageKind::Request, static_cast<uint32_t>(request.size())};
    if (const Passed passed = send_message(socket_, head, request, -1, deadline); passed != Passed::Whole)
        fail(passed);
    return wait_for_answer(deadline);
}

} // namespace reap::native
