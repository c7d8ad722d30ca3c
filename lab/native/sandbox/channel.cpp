#include "sandbox/channel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace reap::native {
namespace {

// After a call that took or gave nothing: waits until the socket does.
Passed wait_for(int socket, short event, Deadline deadline) {
    using std::chrono::milliseconds;
    if (errno == EINTR) return Passed::Whole;
    if (errno != EAGAIN) return Passed::Ended;
    while (true) {
        int left = -1;
        if (deadline != kNever) {
            const auto until = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
            if (until <= milliseconds::zero()) return Passed::Late;
            left = static_cast<int>(std::min(until, milliseconds(60'000)).count());
        }
        pollfd waited{socket, event, 0};
        const int ready = ::poll(&waited, 1, left);
        if (ready > 0) return Passed::Whole;
        if (ready < 0 && errno != EINTR) return Passed::Ended;
    }
}

// Space for one descriptor beside a message.
union Control {
    cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int descriptor_of(msghdr &message) {
    cmsghdr *const beside = CMSG_FIRSTHDR(&message);
    if (beside == nullptr || beside->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(beside), sizeof descriptor);
    return descriptor;
}

} // namespace

Passed send_message(int socket, MessageHead head, std::string_view bytes, int descriptor, Deadline deadline) {
    iovec parts[2] = {{&head, sizeof head}, {const_cast<char *>(bytes.data()), bytes.size()}};
    Control control{};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    if (descriptor >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        cmsghdr *const beside = CMSG_FIRSTHDR(&message);
        beside->cmsg_level = SOL_SOCKET;
        beside->cmsg_type = SCM_RIGHTS;
        beside->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(beside), &descriptor, sizeof descriptor);
    }
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (const Passed ready = wait_for(socket, POLLOUT, deadline); ready != Passed::Whole)
                return ready;
            continue;
        }
        message.msg_control = nullptr; // it went with the first byte
        message.msg_controllen = 0;
        for (iovec &part : parts) {
            const size_t taken = std::min(static_cast<size_t>(sent), part.iov_len);
            part.iov_base = static_cast<char *>(part.iov_base) + taken;
            part.iov_len -= taken;
            sent -= static_cast<ssize_t>(taken);
        }
    }
    return Passed::Whole;
}

Passed receive_head(int socket, MessageHead &head, int *descriptor, Deadline deadline) {
    if (descriptor != nullptr) *descriptor = -1;
    auto *at = reinterpret_cast<char *>(&head);
    for (size_t left = sizeof head; left > 0;) {
        iovec part{at, left};
        Control control{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        if (descriptor != nullptr) {
            message.msg_control = control.bytes;
            message.msg_controllen = sizeof control.bytes;
        }
        const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0) {
            if (const Passed ready = wait_for(socket, POLLIN, deadline); ready != Passed::Whole) return ready;
            continue;
        }
        if (got == 0) return Passed::Ended;
        if (descriptor != nullptr && *descriptor < 0) *descriptor = descriptor_of(message);
        at += got;
        left -= static_cast<size_t>(got);
    }
    return Passed::Whole;
}

Passed receive_bytes(int socket, uint32_t length, std::string &bytes, Deadline deadline) {
    bytes.resize(length);
    for (size_t at = 0; at < bytes.size();) {
        const ssize_t got = ::recv(socket, bytes.data() + at, bytes.size() - at, MSG_DONTWAIT);
        if (got < 0) {
            if (const Passed ready = wait_for(socket, POLLIN, deadline); ready != Passed::Whole) return ready;
            continue;
        }
        if (got == 0) return Passed::Ended;
        at += static_cast<size_t>(got);
    }
    return Passed::Whole;
}

} // namespace reap::native
