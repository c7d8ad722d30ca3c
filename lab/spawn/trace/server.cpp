// SPDX-License-Identifier: MIT
#include "trace/server.h"

#include <cstddef>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "reap_trace.h"

namespace reap::spawn {
namespace {

void send_descriptor(int socket, const sockaddr_un &to, socklen_t length, int descriptor) {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_name = const_cast<sockaddr_un *>(&to);
    message.msg_namelen = length;
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    (void)sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/// The one descriptor that a message has; -1: none. There is no room for more.
int descriptor_in(msghdr &message) {
    const cmsghdr *const head = CMSG_FIRSTHDR(&message);
    int descriptor = -1;
    if (head != nullptr && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
        std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    return descriptor;
}

} // namespace

TraceServer::~TraceServer() {
    if (fd_ >= 0) close(fd_);
}

void TraceServer::open(const char *socket) {
    if (socket == nullptr || std::strlen(socket) != std::size_t{2} * REAP_SOCKET_NAME) return;
    constexpr std::size_t prefix = sizeof REAP_SOCKET_PREFIX - 1;
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path + 1, REAP_SOCKET_PREFIX, prefix);
    std::memcpy(name.sun_path + 1 + prefix, socket, REAP_SOCKET_NAME);
    const int file = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return;
    constexpr socklen_t length = offsetof(sockaddr_un, sun_path) + 1 + prefix + REAP_SOCKET_NAME;
    if (bind(file, reinterpret_cast<const sockaddr *>(&name), length) != 0) {
        close(file);
        return;
    }
    fd_ = file;
    secret_ = socket + REAP_SOCKET_NAME;
}

void TraceServer::serve(int trace) {
    static char received[REAP_SOCKET_NAME + 4096]; // the secret, and the name of a file that is sent
    for (;;) {
        sockaddr_un from{};
        iovec data{received, sizeof received};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        msghdr message{};
        message.msg_name = &from;
        message.msg_namelen = sizeof from;
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const ssize_t got = recvmsg(fd_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0) return;
        const int file = descriptor_in(message);
        const auto length = static_cast<std::size_t>(got);
        if (length < REAP_SOCKET_NAME || std::memcmp(received, secret_, REAP_SOCKET_NAME) != 0) {
            if (file >= 0) close(file);
        } else if (file >= 0) {
            held_.take(file, received + REAP_SOCKET_NAME, length - REAP_SOCKET_NAME);
        } else if (length == REAP_SOCKET_NAME) {
            send_descriptor(fd_, from, message.msg_namelen, trace);
        }
    }
}

} // namespace reap::spawn
