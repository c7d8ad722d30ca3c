#include "launcher.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#include "files/file.h"
#include "refusal.h"

namespace reap::kit {
namespace {

using native::Descriptor;

// Signals of lab/reap/launch/spawn.py. The program ignores those that we were started to ignore, too.
constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};
// Signals by which a terminal stops a job: the launcher stops us when the program has stopped.
constexpr std::array kStops = {SIGTSTP, SIGTTIN, SIGTTOU};

volatile std::sig_atomic_t launcher_pid = 0;

// Signals for a whole group reach the launcher, too, which does not pass them on.
void pass_on(int number) {
    const int kept = errno;
    if (launcher_pid > 0) ::kill(launcher_pid, number);
    errno = kept;
}

void handle(int number, void (*handler)(int)) {
    struct sigaction before{};
    if (::sigaction(number, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
    struct sigaction action{};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(number, &action, nullptr);
}

void stay(int /*number*/) {}

// Starts it; its result is read from `receiving`.
pid_t start(const std::string &launcher, std::vector<std::string> words, int receiving, int sending,
            const Waiting &waiting) {
    words.insert(words.begin(), {launcher, "--result-fd", std::to_string(sending)});
    std::vector<char *> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string &word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw Refusal(std::string("no process can be made: ") + std::strerror(errno), "try again");
    if (child == 0) {
        ::close(receiving);
        ::fcntl(sending, F_SETFD, 0);
        for (const int number : kPassedOn) handle(number, SIG_DFL);
        waiting.end();
        ::execv(launcher.c_str(), arguments.data());
        ::_exit(errno == ENOENT ? kNotFound : kNotExecutable);
    }
    launcher_pid = child;
    waiting.end();
    return child;
}

std::string read_all(int file) {
    std::string text;
    std::array<char, 4096> part{};
    for (;;) {
        const ssize_t got = ::read(file, part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return text;
        text.append(part.data(), static_cast<size_t>(got));
    }
}

struct Result {
    std::string text;
    int signal = 0; // that we pass on, and that ended the launcher before it wrote a text
};

// Text that the launcher writes when it has run with these options.
Result result_of(const std::string &launcher, const std::vector<std::string> &options,
                 const Waiting &waiting) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw Refusal(std::string("no pipe can be made: ") + std::strerror(errno), "try again");
    const Descriptor receiving(ends[0]);
    pid_t child = 0;
    {
        const Descriptor sending(ends[1]);
        child = start(launcher, options, receiving.get(), sending.get(), waiting);
    }
    const std::string text = read_all(receiving.get());
    siginfo_t ended{};
    // Fails where we were started to ignore our children; then the text alone tells.
    while (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    launcher_pid = 0; // before its number can be another's
    int status = 0;
    const bool known = ::waitpid(child, &status, 0) == child;
    if (text.empty() && WIFSIGNALED(status) &&
        std::find(kPassedOn.begin(), kPassedOn.end(), WTERMSIG(status)) != kPassedOn.end())
        return {"", WTERMSIG(status)};
    if (text.empty() || (known && status != 0)) {
        const std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                                    : "exit code " + std::to_string(WEXITSTATUS(status));
        throw Refusal("the launcher " + launcher + " failed (" + how + ")",
                      "copy the whole folder that reap record --kit made");
    }
    return {text};
}

// A number in the launcher's result, or 0.
int number_in(std::string_view json, std::string_view name) {
    const std::string field = std::string(1, '"').append(name).append("\":");
    int number = 0;
    if (const size_t at = json.find(field); at != std::string_view::npos)
        std::from_chars(json.data() + at + field.size(), json.data() + json.size(), number);
    return number;
}

} // namespace

Waiting::Waiting() {
    sigset_t all;
    sigemptyset(&all);
    for (const int number : kPassedOn) sigaddset(&all, number);
    ::sigprocmask(SIG_BLOCK, &all, &before_);
}

Waiting::~Waiting() { end(); }

void Waiting::end() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

bool samples(const std::string &launcher) {
    return number_in(result_of(launcher, {"--check-sampling"}, Waiting()).text, "samples") > 0;
}

Outcome launch(const std::string &launcher, const std::vector<std::string> &options, const Waiting &waiting) {
    for (const int number : kPassedOn) handle(number, pass_on);
    for (const int number : kStops) handle(number, stay);
    const auto [result, signal] = result_of(launcher, options, waiting);
    handle(SIGQUIT, SIG_DFL);
    if (signal != 0) return {0, signal, "", 0};
    Outcome outcome{number_in(result, "exit_code"), number_in(result, "signal"), "",
                    number_in(result, "errno")};
    constexpr std::string_view kFailed = R"({"failed_step":")";
    if (result.starts_with(kFailed))
        outcome.failed_step =
            result.substr(kFailed.size(), result.find('"', kFailed.size()) - kFailed.size());
    return outcome;
}

} // namespace reap::kit
