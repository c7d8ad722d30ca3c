// Concern: a sandbox answers, and has no more rights than that takes; whatever becomes of it, its process
// goes on and hears why.
#include "sandbox/sandbox.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "files/regular.h"
#include "sandbox/message.h"
#include "scratch_file.h"
#include "symbols/symbols.h"

namespace {

using namespace reap::native;

std::string first_line(int opened) {
    char text[64] = {};
    const ssize_t got = ::read(opened, text, sizeof text - 1);
    const std::string line(text, got > 0 ? static_cast<size_t>(got) : 0);
    return line.substr(0, line.find('\n'));
}

std::string errno_of(long result) { return result >= 0 ? "done" : std::to_string(errno); }

// Asks for a file, and gives a descriptor beside each byte of that.
void give_descriptors() {
    MessageHead head{MessageKind::Open, 1};
    std::string bytes(reinterpret_cast<const char *>(&head), sizeof head);
    bytes += '/';
    for (char &byte : bytes) {
        iovec part{&byte, 1};
        alignas(cmsghdr) char beside[CMSG_SPACE(2 * sizeof(int))] = {};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = beside;
        message.msg_controllen = sizeof beside;
        auto *const rights = reinterpret_cast<cmsghdr *>(beside);
        *rights = {CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}; // twice standard input
        (void)::sendmsg(kConfinedSocket, &message, 0);
    }
    int opened = -1;
    (void)receive_head(kConfinedSocket, head, &opened, kNever);
}

size_t descriptors_here() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
}

const pid_t tester = ::getpid();
volatile int *shared_number = nullptr;
volatile const int *never = nullptr;

// The number is prlimit64's here, which is allowed with 0, and renameat's there.
std::string call_of_i386() {
    long result = 302; // NOLINT(misc-const-correctness): the call writes to it
    asm volatile("int $0x80" : "+a"(result) : "b"(0L), "c"(0L), "d"(0L), "S"(0L) : "memory");
    return "returned";
}

// The path by which it has the second file, whose descriptor was another's.
std::string path_after(const std::string &path) {
    ::close(::open("/first", O_RDONLY));
    const int opened = ::open(path.c_str(), O_RDONLY);
    char found[PATH_MAX] = {};
    const std::string name = "/proc/self/fd/" + std::to_string(opened);
    const ssize_t length = ::readlink(name.c_str(), found, sizeof found);
    return {found, length > 0 ? static_cast<size_t>(length) : 0};
}

std::string open_too_many(const std::string &path) {
    int opened = 0;
    int last = -1;
    while (opened <= kMostFiles && (last = ::open(path.c_str(), O_RDONLY)) > 0) ++opened;
    return last < 0 ? std::to_string(errno) : "opened " + std::to_string(last);
}

// What a reader might do that a hostile file has taken over.
std::string misbehave(std::string_view how) {
    if (how == "say") return "hello";
    if (how == "memory") {
        std::vector<std::string> all;
        while (true) all.emplace_back(size_t{1} << 24, 'x');
    }
    if (how == "time") {
        while (true) asm volatile("");
    }
    if (how == "crash") return std::to_string(*never);
    if (how == "leave") ::_exit(0);
    if (how == "throw") throw std::runtime_error("thrown");
    if (how == "write") return errno_of(::open("/tmp/reap-sandbox-wrote", O_CREAT | O_WRONLY, 0600));
    if (how == "execute") return errno_of(::execl("/bin/true", "true", nullptr));
    if (how == "fork") return errno_of(::fork());
    if (how == "connect") return errno_of(::socket(AF_INET, SOCK_STREAM, 0));
    if (how == "kill") return errno_of(::kill(tester, SIGUSR1));
    if (how == "i386") return call_of_i386();
    if (how == "x32") return errno_of(::syscall(0x40000000 | SYS_getpid));
    if (how == "status of a path") {
        struct stat found{};
        if (::fstatat(3, "", &found, AT_EMPTY_PATH) != 0 || !S_ISSOCK(found.st_mode))
            return "no descriptor's";
        return errno_of(::syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &found, AT_EMPTY_PATH));
    }
    if (how == "late") {
        (void)::poll(nullptr, 0, 500);
        return "hello";
    }
    if (how.starts_with("path of ")) return path_after(std::string(how.substr(8)));
    if (how.starts_with("many of ")) return open_too_many(std::string(how.substr(8)));
    if (how == "list") return errno_of(::chdir("/"));
    if (how == "give") give_descriptors();
    if (how == "shared") *shared_number = 7;
    if (how == "descriptors") {
        std::string held;
        for (int at = 0; at < 1024; ++at) {
            char byte = 0;
            if (::read(at, &byte, 0) == 0 || errno != EBADF) held += std::to_string(at) + ' ';
        }
        return held;
    }
    if (how.starts_with('/')) return first_line(::open(std::string(how).c_str(), O_RDONLY));
    return "";
}

class Sandboxes : public testing::Test {
  protected:
    void SetUp() override {
        if (is_watched()) GTEST_SKIP() << "this process answers by itself";
    }

    std::string call(const std::string &how) { return sandbox_.call(how); }

    std::string failure_of(const std::string &how) {
        try {
            return "answered: " + sandbox_.call(how);
        } catch (const SandboxFailure &failure) {
            return failure.what();
        }
    }

    // A field of /proc/PID/status of the sandbox.
    std::string status(const std::string &field) {
        std::ifstream file("/proc/" + std::to_string(sandbox_.process()) + "/status");
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with(field + ":\t")) return line.substr(field.size() + 2);
        }
        return "";
    }

    reap::test::ScratchFile scratch_;
    std::vector<std::string> asked_;
    Sandbox sandbox_{[] { return misbehave; },
                     [this](const std::string &path) {
                         asked_.push_back(path);
                         if (path == scratch_.path() || path == "/first")
                             return open_regular(scratch_.path());
                         errno = EACCES;
                         return -1;
                     },
                     {.memory = 64U << 20, .time = std::chrono::seconds(20)}};
};

TEST_F(Sandboxes, AnswerAgainAndAgain) {
    for (int turn = 0; turn < 100; ++turn) ASSERT_EQ(call("say"), "hello");
}

TEST_F(Sandboxes, SurviveAnAnswerThatDoesNotCome) {
    EXPECT_NE(failure_of("crash").find("signal 11"), std::string::npos);
    EXPECT_EQ(call("say"), "hello");
    EXPECT_EQ(failure_of("leave"), "it made the reader fail");
    EXPECT_EQ(call("say"), "hello");
    EXPECT_EQ(failure_of("throw"), "it made the reader fail");
    EXPECT_EQ(failure_of("memory"), "it took the reader more memory than it may have");
    EXPECT_EQ(call("say"), "hello");
}

TEST_F(Sandboxes, BlameNoRequestForAnEndBeforeIt) {
    EXPECT_EQ(call("say"), "hello");
    ::kill(sandbox_.process(), SIGKILL);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(sandbox_.process()), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(call("say"), "hello");
}

TEST(Sandbox, WaitsNoLongerThanItsTime) {
    if (is_watched()) GTEST_SKIP() << "this process answers by itself";
    Sandbox sandbox([] { return misbehave; }, [](const std::string &) { return -1; },
                    {.time = std::chrono::milliseconds(300)});
    try {
        (void)sandbox.call("time");
        FAIL();
    } catch (const SandboxFailure &failure) {
        EXPECT_STREQ(failure.what(), "it took the reader longer than 1 s");
    }
}

TEST(Sandbox, OutlivesAStoppedChild) {
    if (is_watched()) GTEST_SKIP() << "this process answers by itself";
    Sandbox sandbox([] { return misbehave; }, [](const std::string &) { return -1; },
                    {.time = std::chrono::seconds(3)});
    EXPECT_EQ(sandbox.call("say"), "hello");
    ::kill(sandbox.process(), SIGSTOP);
    EXPECT_THROW((void)sandbox.call("say"), SandboxFailure);
    EXPECT_EQ(sandbox.call("say"), "hello");
}

TEST(Sandbox, TakesAnAnswerThatCameWhileItsProcessWasStopped) {
    if (is_watched()) GTEST_SKIP() << "this process answers by itself";
    const pid_t stopped = ::fork();
    if (stopped == 0) {
        Sandbox sandbox([] { return misbehave; }, [](const std::string &) { return -1; },
                        {.time = std::chrono::seconds(2)});
        try {
            ::_exit(sandbox.call("late") == "hello" ? 0 : 1);
        } catch (const SandboxFailure &) {
            ::_exit(2);
        }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(stopped, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    ::kill(stopped, SIGCONT);
    int status = -1;
    ASSERT_EQ(::waitpid(stopped, &status, 0), stopped);
    EXPECT_EQ(status, 0);
}

TEST(Sandbox, BlamesNoFileWhereNoProcessCanBeStarted) {
    if (is_watched()) GTEST_SKIP() << "this process answers by itself";
    Sandbox sandbox([] { return misbehave; }, [](const std::string &) { return -1; });
    rlimit files{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
    const rlimit none{0, files.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_THROW((void)sandbox.call("say"), NoSandbox);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
    EXPECT_EQ(sandbox.call("say"), "hello");
}

TEST_F(Sandboxes, EndFirstWhereMemoryRunsShort) {
    EXPECT_EQ(call("say"), "hello");
    std::ifstream file("/proc/" + std::to_string(sandbox_.process()) + "/oom_score_adj");
    int score = 0;
    file >> score;
    EXPECT_EQ(score, 1000);
}

TEST_F(Sandboxes, HaveNoPrivileges) {
    EXPECT_EQ(call("say"), "hello");
    EXPECT_EQ(status("NoNewPrivs"), "1");
    for (const char *const field : {"CapEff", "CapPrm", "CapAmb"})
        EXPECT_EQ(status(field), "0000000000000000") << field;
    if (::geteuid() == 0 && sandbox_.confinement().unprivileged) {
        EXPECT_EQ(status("Uid"), "65534\t65534\t65534\t65534");
        EXPECT_EQ(status("Gid"), "65534\t65534\t65534\t65534");
        EXPECT_EQ(status("Groups"), " ");
    }
    EXPECT_EQ(call("descriptors"), "0 1 2 3 ");
}

TEST_F(Sandboxes, ChangeNothingOutside) {
    void *const mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    shared_number = static_cast<volatile int *>(mapped);
    EXPECT_NE(failure_of("shared").find("signal 11"), std::string::npos);
    EXPECT_EQ(*shared_number, 0);
    ::munmap(mapped, 4096);
    if (call("say"); !sandbox_.confinement().filtered) GTEST_SKIP() << "no seccomp here";
    const std::string refused = std::to_string(EPERM);
    for (const char *const how : {"execute", "fork", "connect", "kill", "list"})
        EXPECT_EQ(call(how), refused) << how;
    EXPECT_EQ(call("write"), std::to_string(EACCES));
    EXPECT_FALSE(std::filesystem::exists("/tmp/reap-sandbox-wrote"));
}

TEST_F(Sandboxes, GiveNoDescriptors) {
    EXPECT_EQ(call("say"), "hello");
    const size_t before = descriptors_here();
    EXPECT_EQ(call("give"), "");
    EXPECT_EQ(asked_, std::vector<std::string>{"/"});
    EXPECT_EQ(descriptors_here(), before);
}

TEST_F(Sandboxes, HaveTheFilesThatAreOpenedForThem) {
    if (call("say"); !sandbox_.confinement().filtered) GTEST_SKIP() << "no seccomp here";
    scratch_.write("a line\n", 7);
    EXPECT_EQ(call(scratch_.path()), "a line");
    EXPECT_EQ(call("/etc/shadow"), "");
    EXPECT_EQ(asked_, (std::vector<std::string>{scratch_.path(), "/etc/shadow"}));
    EXPECT_EQ(call("path of " + scratch_.path()), scratch_.path());
    EXPECT_EQ(call("many of " + scratch_.path()), std::to_string(EMFILE));
    EXPECT_EQ(call("status of a path"), std::to_string(EACCES));
}

TEST_F(Sandboxes, MakeNoCallsOfOtherArchitectures) {
    if (call("say"); !sandbox_.confinement().filtered) GTEST_SKIP() << "no seccomp here";
    EXPECT_NE(failure_of("i386").find("by signal"), std::string::npos);
    EXPECT_NE(call("x32"), "done");
}

TEST_F(Sandboxes, AnswerWhereTheTableOfDescriptorsIsFull) {
    rlimit files{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
    const int next = ::open("/dev/null", O_RDONLY);
    ::close(next);
    const rlimit two_more{static_cast<rlim_t>(next) + 2, files.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &two_more), 0);
    EXPECT_EQ(failure_of("say"), "answered: hello");
    EXPECT_EQ(failure_of("descriptors"), "answered: 0 1 2 3 ");
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
}

TEST_F(Sandboxes, OutliveACopyOfTheirProcess) {
    EXPECT_EQ(call("say"), "hello");
    const pid_t before = sandbox_.process();
    const pid_t copy = ::fork();
    if (copy == 0) {
        const bool answers = failure_of("say") == "answered: hello" && sandbox_.process() != before;
        ::_exit(answers ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(copy, &status, 0), copy);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(call("say"), "hello");
    EXPECT_EQ(sandbox_.process(), before);
}

TEST(Message, GivesNoMoreThanItHas) {
    std::string bytes;
    put(bytes, std::vector<std::pair<std::string, AddressRange>>{{"name", {1, 2}}, {"", {3, 4}}});
    put(bytes, std::map<std::string, uint64_t>{{"key", 5}});
    for (size_t length = 0; length <= bytes.size(); ++length) {
        MessageReader in(std::string_view(bytes).substr(0, length));
        std::vector<std::pair<std::string, AddressRange>> ranges;
        std::map<std::string, uint64_t> numbers;
        const auto take_all = [&] {
            take(in, ranges);
            take(in, numbers);
        };
        if (length < bytes.size()) {
            EXPECT_THROW(take_all(), BadMessage) << length;
        } else {
            take_all();
            EXPECT_EQ(ranges.at(0).first, "name");
            EXPECT_EQ(ranges.at(1).second.end, 4U);
            EXPECT_EQ(numbers.at("key"), 5U);
        }
    }
    MessageReader many(std::string_view("\xff\xff\xff\xff\xff\xff\xff\x7f", 8));
    std::vector<uint64_t> none;
    EXPECT_THROW(take(many, none), BadMessage);
}

} // namespace
