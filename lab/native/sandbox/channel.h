// Messages between a process and its sandbox, over a pair of sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace reap::native {

enum class MessageKind : uint32_t {
    Request, // to the sandbox: bytes that it is to answer
    Answer,  // from it
    Open,    // from it: the path of a file that it asks for
    Opened   // to it: that file, or the error's number
};

struct MessageHead {
    MessageKind kind;
    uint32_t length; // of the bytes that follow; of `Opened` the error's number, and no bytes
};

// Outcome of a message.
enum class Passed : uint8_t { Whole, Ended, Late };

using Deadline = std::chrono::steady_clock::time_point;
constexpr Deadline kNever = Deadline::max();

// Sends a message, with a descriptor where there is one. Calls no malloc and throws nothing: a handler of
// signals may use it.
Passed send_message(int socket, MessageHead head, std::string_view bytes, int descriptor, Deadline deadline);

// Receives the head of a message, and the descriptor that came with it, or -1; as careful. Without
// `descriptor` none is taken: whoever sends many would have this process hold them.
Passed receive_head(int socket, MessageHead &head, int *descriptor, Deadline deadline);

// Receives the bytes of a message.
Passed receive_bytes(int socket, uint32_t length, std::string &bytes, Deadline deadline);

} // namespace reap::native
