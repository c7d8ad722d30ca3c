// libpthread's functions. Before glibc 2.34 a program without threads has none of them.
#include <cerrno>
#include <csignal>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>

#include "newer.h"

namespace reap::older {
namespace {

template <class Function>
using Threads = Newer<Function, Library::Later>;

constinit Threads<int(pthread_key_t *, void (*)(void *))> newer_key_create{"pthread_key_create"};
constinit Threads<int(pthread_key_t, const void *)> newer_setspecific{"pthread_setspecific"};
constinit Threads<void *(pthread_key_t)> newer_getspecific{"pthread_getspecific"};
constinit Threads<int(pthread_once_t *, void (*)())> newer_once{"pthread_once"};
constinit Threads<int(pthread_key_t)> newer_key_delete{"pthread_key_delete"};
constinit Threads<int(int, const sigset_t *, sigset_t *)> newer_sigmask{"pthread_sigmask"};
constinit Threads<int(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)> newer_create{
    "pthread_create"};
constinit Threads<int(pthread_t, void **)> newer_join{"pthread_join"};
constinit Threads<int(pthread_t, void **, const timespec *)> newer_timedjoin{"pthread_timedjoin_np"};
constinit Threads<int(pthread_t)> newer_detach{"pthread_detach"};
constinit Threads<int(pthread_attr_t *, void *, size_t)> newer_setstack{"pthread_attr_setstack"};
constinit Threads<int(const pthread_attr_t *, void **, size_t *)> newer_getstack{"pthread_attr_getstack"};
constinit Threads<int(pthread_t, pthread_attr_t *)> newer_getattr{"pthread_getattr_np"};
constinit Threads<int(pthread_t, clockid_t *)> newer_clock{"pthread_getcpuclockid"};
using LockCall = int(pthread_rwlock_t *);
constinit Threads<int(pthread_rwlock_t *, const pthread_rwlockattr_t *)> newer_lock_init{
    "pthread_rwlock_init"};
constinit Threads<LockCall> newer_lock_destroy{"pthread_rwlock_destroy"};
constinit Threads<LockCall> newer_read_lock{"pthread_rwlock_rdlock"};
constinit Threads<LockCall> newer_try_read_lock{"pthread_rwlock_tryrdlock"};
constinit Threads<LockCall> newer_write_lock{"pthread_rwlock_wrlock"};
constinit Threads<LockCall> newer_unlock{"pthread_rwlock_unlock"};

template <class Function, class... Arguments>
int call_or(int error, Function &function, Arguments... arguments) noexcept {
    auto *const newer = function.get();
    return newer != nullptr ? newer(arguments...) : error;
}

// Only whoever needs a thread brings libpthread into a program that has none. Libc itself opens libraries so.
void load_libpthread() noexcept {
    constexpr unsigned from_libc = 0x80000000; // __RTLD_DLOPEN
    using Open = void *(const char *, unsigned);
    if (hides_newer) return;
    if (auto *const open = reinterpret_cast<Open *>(const_cast<void *>(find_newer("__libc_dlopen_mode"))))
        open("libpthread.so.0", RTLD_NOW | from_libc);
}

} // namespace
} // namespace reap::older

using namespace reap::older;

extern "C" {

[[gnu::weak]] int pthread_key_create(pthread_key_t *key, void (*ended)(void *)) noexcept {
    return call_or(EAGAIN, newer_key_create, key, ended);
}

// libgcc's name for it.
[[gnu::weak]] int __pthread_key_create(pthread_key_t *key, void (*ended)(void *)) noexcept {
    return pthread_key_create(key, ended);
}

[[gnu::weak]] int pthread_key_delete(pthread_key_t key) noexcept {
    return call_or(EINVAL, newer_key_delete, key);
}

[[gnu::weak]] int pthread_setspecific(pthread_key_t key, const void *value) noexcept {
    return call_or(EINVAL, newer_setspecific, key, value);
}

[[gnu::weak]] void *pthread_getspecific(pthread_key_t key) noexcept {
    auto *const newer = newer_getspecific.get();
    return newer != nullptr ? newer(key) : nullptr;
}

[[gnu::weak]] int pthread_once(pthread_once_t *control, void (*function)()) {
    if (auto *const newer = newer_once.get()) return newer(control, function);
    if (*control != 0) return 0;
    *control = 2; // as glibc marks it
    function();
    return 0;
}

[[gnu::weak]] int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) noexcept {
    if (auto *const newer = newer_sigmask.get()) return newer(how, set, old);
    return sigprocmask(how, set, old) == 0 ? 0 : errno;
}

[[gnu::weak]] int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                                 void *argument) noexcept {
    if (newer_create.get() == nullptr) load_libpthread();
    return call_or(EAGAIN, newer_create, thread, attributes, body, argument);
}

[[gnu::weak]] int pthread_join(pthread_t thread, void **result) {
    return call_or(ESRCH, newer_join, thread, result);
}

[[gnu::weak]] int pthread_timedjoin_np(pthread_t thread, void **result, const timespec *until) {
    return call_or(ESRCH, newer_timedjoin, thread, result, until);
}

[[gnu::weak]] int pthread_detach(pthread_t thread) noexcept { return call_or(ESRCH, newer_detach, thread); }

[[gnu::weak]] int pthread_attr_setstack(pthread_attr_t *attributes, void *stack, size_t size) noexcept {
    if (newer_setstack.get() == nullptr) load_libpthread(); // a thread comes next, and is to have that stack
    return call_or(EINVAL, newer_setstack, attributes, stack, size);
}

[[gnu::weak]] int pthread_attr_getstack(const pthread_attr_t *attributes, void **stack,
                                        size_t *size) noexcept {
    return call_or(EINVAL, newer_getstack, attributes, stack, size);
}

[[gnu::weak]] int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes) noexcept {
    return call_or(ENOENT, newer_getattr, thread, attributes);
}

[[gnu::weak]] int pthread_getcpuclockid(pthread_t thread, clockid_t *clock) noexcept {
    return call_or(ENOENT, newer_clock, thread, clock);
}

// Without threads a lock is free. libdw has such locks.
[[gnu::weak]] int pthread_rwlock_init(pthread_rwlock_t *lock,
                                      const pthread_rwlockattr_t *attributes) noexcept {
    return call_or(0, newer_lock_init, lock, attributes);
}

[[gnu::weak]] int pthread_rwlock_destroy(pthread_rwlock_t *lock) noexcept {
    return call_or(0, newer_lock_destroy, lock);
}

[[gnu::weak]] int pthread_rwlock_rdlock(pthread_rwlock_t *lock) noexcept {
    return call_or(0, newer_read_lock, lock);
}

[[gnu::weak]] int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) noexcept {
    return call_or(0, newer_try_read_lock, lock);
}

[[gnu::weak]] int pthread_rwlock_wrlock(pthread_rwlock_t *lock) noexcept {
    return call_or(0, newer_write_lock, lock);
}

[[gnu::weak]] int pthread_rwlock_unlock(pthread_rwlock_t *lock) noexcept {
    return call_or(0, newer_unlock, lock);
}

} // extern "C"
