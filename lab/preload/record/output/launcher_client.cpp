#include "output/launcher_client.h"

#include <cstddef>
#include <cstring>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "platform.h"
#include "reap_trace.h"

namespace reap::preload {
namespace {

constexpr time_t kTimeout = 2; // seconds

// Raw system calls: libc's functions are cancellation points, and programs interpose them.
int receive_descriptor(int socket) noexcept {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    long got = -1;
    do {
        got = syscall(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    const cmsghdr *head = got >= 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (head == nullptr || head->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor = -1;
    memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    return descriptor;
}

} // namespace

int request_trace(const char *socket) noexcept {
    if (strlen(socket) != size_t{2} * REAP_SOCKET_NAME) return -1;
    sockaddr_un launcher{};
    launcher.sun_family = AF_UNIX;
    // The first byte is 0: an abstract name, independent of the root directory.
    constexpr size_t kPrefix = sizeof REAP_SOCKET_PREFIX - 1;
    memcpy(launcher.sun_path + 1, REAP_SOCKET_PREFIX, kPrefix);
    memcpy(launcher.sun_path + 1 + kPrefix, socket, REAP_SOCKET_NAME);
    constexpr size_t kLength = offsetof(sockaddr_un, sun_path) + 1 + kPrefix + REAP_SOCKET_NAME;

    const long end = syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (end < 0) return -1;
    const auto number = static_cast<int>(end);
    sockaddr_un any{};
    any.sun_family = AF_UNIX;
    const timeval patience{kTimeout, 0};
    int descriptor = -1;
    // Bound to a name chosen by the kernel, to receive the answer; connected, so that only the launcher can
    // send it.
    if (syscall(SYS_bind, number, &any, sizeof any.sun_family) == 0 &&
        syscall(SYS_setsockopt, number, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        syscall(SYS_connect, number, &launcher, kLength) == 0 &&
        syscall(SYS_write, number, socket + REAP_SOCKET_NAME, REAP_SOCKET_NAME) == REAP_SOCKET_NAME) {
        descriptor = receive_descriptor(number);
    }
    close_quietly(number);
    return descriptor;
}

} // namespace reap::preload
