#include "output/launcher_client.h"

#include <cstddef>
#include <cstring>
#include <fcntl.h>
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

constexpr size_t kPrefix = sizeof REAP_SOCKET_PREFIX - 1;
constexpr size_t kLength = offsetof(sockaddr_un, sun_path) + 1 + kPrefix + REAP_SOCKET_NAME;

sockaddr_un address_of(const char *socket) noexcept {
    sockaddr_un launcher{};
    launcher.sun_family = AF_UNIX;
    // The first byte is 0: an abstract name, independent of the root directory.
    memcpy(launcher.sun_path + 1, REAP_SOCKET_PREFIX, kPrefix);
    memcpy(launcher.sun_path + 1 + kPrefix, socket, REAP_SOCKET_NAME);
    return launcher;
}

void send_file(const sockaddr_un &launcher, const char *secret, int file, const char *name,
               size_t length) noexcept {
    const long end = syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (end < 0) return;
    iovec data[] = {{const_cast<char *>(secret), REAP_SOCKET_NAME}, {const_cast<char *>(name), length}};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_name = const_cast<sockaddr_un *>(&launcher);
    message.msg_namelen = kLength;
    message.msg_iov = data;
    message.msg_iovlen = 2;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof file);
    syscall(SYS_sendmsg, end, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    close_quietly(static_cast<int>(end));
}

} // namespace

void lend_file(const char *socket, const char *path, const char *name, size_t length) noexcept {
    if (length == 0 || strlen(socket) != size_t{2} * REAP_SOCKET_NAME) return;
    const ErrnoGuard keep;
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) return;
    send_file(address_of(socket), socket + REAP_SOCKET_NAME, static_cast<int>(file), name, length);
    close_quietly(static_cast<int>(file));
}

int request_trace(const char *socket) noexcept {
    if (strlen(socket) != size_t{2} * REAP_SOCKET_NAME) return -1;
    const sockaddr_un launcher = address_of(socket);
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
