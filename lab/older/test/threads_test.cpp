#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <sys/single_threaded.h>

#include "sides.h"
#include "single_threaded.h"

namespace reap::older {
namespace {

class Threads : public Sides {};
REAP_BOTH_SIDES(Threads);

int runs = 0;

TEST_P(Threads, AFunctionRunsOnce) {
    runs = 0;
    static pthread_once_t once[] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT}; // one for each side
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pthread_once(&once[GetParam() ? 1 : 0], [] { ++runs; }), 0);
    EXPECT_EQ(runs, 1);
}

TEST_P(Threads, AKeyIsMadeOrRefused) {
    pthread_key_t key = 0;
    const int error = pthread_key_create(&key, nullptr);
    EXPECT_EQ(error, GetParam() ? EAGAIN : 0);
    if (error != 0) return;
    EXPECT_EQ(pthread_setspecific(key, &runs), 0);
    EXPECT_EQ(pthread_getspecific(key), &runs);
    EXPECT_EQ(pthread_key_delete(key), 0);
}

TEST_P(Threads, AThreadIsMadeOrRefused) {
    pthread_t thread{};
    runs = 0;
    const auto body = [](void *) -> void * {
        ++runs;
        return nullptr;
    };
    const int error = pthread_create(&thread, nullptr, body, nullptr);
    EXPECT_EQ(error, GetParam() ? EAGAIN : 0);
    if (error == 0) {
        EXPECT_EQ(pthread_join(thread, nullptr), 0);
    }
    EXPECT_EQ(runs, error == 0 ? 1 : 0);
}

TEST_P(Threads, SignalsAreMasked) {
    sigset_t user;
    sigset_t old;
    sigemptyset(&user);
    sigaddset(&user, SIGUSR1);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &user, &old), 0);
    EXPECT_EQ(sigismember(&old, SIGUSR1), 0);
    ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &old, &user), 0);
    EXPECT_EQ(sigismember(&user, SIGUSR1), 1);
}

TEST_P(Threads, ALockIsFree) {
    pthread_rwlock_t lock{};
    EXPECT_EQ(pthread_rwlock_init(&lock, nullptr), 0);
    EXPECT_EQ(pthread_rwlock_wrlock(&lock), 0);
    EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

TEST(SingleThreaded, IsWhatTheCLibrarySays) {
    // The program's own definition of the name is for what was compiled by others.
    EXPECT_EQ(single_threaded, find_newer("__libc_single_threaded"));
}

} // namespace
} // namespace reap::older
