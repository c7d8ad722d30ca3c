// Concern: a sandbox answers, and has no more rights than that takes; whatever becomes of it, its process
// goes on and hears why.
#include "sandbox/sandbox.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "files/regular.h"
#include "sandbox/message.h"
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

volatile int *shared_number = nullptr;
volatile const int *never = nullptr;

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
    if (how == "kill") return errno_of(::kill(::getppid(), SIGUSR1));
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

    std::vector<std::string> asked_;
    Sandbox sandbox_{[] { return misbehave; },
                     [this](const std::string &path) {
                         asked_.push_back(path);
                         if (path == "/etc/os-release") return open_regular(path);
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
    EXPECT_EQ(call("/etc/os-release"), first_line(open_regular("/etc/os-release")));
    EXPECT_EQ(call("/etc/shadow"), "");
    EXPECT_EQ(asked_, (std::vector<std::string>{"/etc/os-release", "/etc/shadow"}));
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
