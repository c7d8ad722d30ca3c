#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sides.h"

namespace reap::older {
namespace {

class System : public Sides {};
REAP_BOTH_SIDES(System);

int status_of(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_P(System, AFileHasItsStatus) {
    char path[] = "/tmp/older-XXXXXX";
    const int file = mkstemp(path);
    ASSERT_EQ(write(file, "four", 4), 4);
    struct stat by_name{};
    struct stat by_number{};
    struct stat by_link{};
    ASSERT_EQ(stat(path, &by_name), 0);
    ASSERT_EQ(fstat(file, &by_number), 0);
    ASSERT_EQ(lstat(path, &by_link), 0);
    EXPECT_EQ(by_name.st_size, 4);
    EXPECT_EQ(by_name.st_ino, by_number.st_ino);
    EXPECT_EQ(by_name.st_ino, by_link.st_ino);
    close(file);
    unlink(path);
    EXPECT_EQ(stat(path, &by_name), -1);
    EXPECT_EQ(errno, ENOENT);
}

TEST_P(System, AForkRunsTheSameProgram) {
    const pid_t child = _Fork();
    if (child == 0) _exit(7);
    ASSERT_GT(child, 0);
    EXPECT_EQ(status_of(child), 7);
}

TEST_P(System, DescriptorsAreClosedFromANumber) {
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 300; ++i) (void)!dup(0);
        closefrom(10);
        for (int i = 10; i < 400; ++i)
            if (fcntl(i, F_GETFD) != -1) _exit(1);
        _exit(fcntl(2, F_GETFD) != -1 ? 0 : 2);
    }
    EXPECT_EQ(status_of(child), 0);
}

} // namespace
} // namespace reap::older
