// Numbers for the threads of a recording, where those that begin later may have taken over a stream.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "trace/event_stream.h"

namespace reap::native {

// The first thread of a stream has the stream's number. One that took it over gets a number that no other
// thread of its process has, when it is first asked for: give every stream to `begin` before that.
class ThreadNumbers {
  public:
    void begin(uint32_t pid, const EventStream &stream) {
        uint32_t &next = next_[pid];
        next = std::max(next, stream.thread() + 1);
    }

    // Of the thread whose events wait in the stream.
    uint32_t of(uint32_t pid, const EventStream &stream) {
        if (stream.successors() == 0) return stream.thread();
        const auto [known, fresh] =
            later_.try_emplace({stream.image(), stream.thread(), stream.successors()}, next_[pid]);
        if (fresh) ++next_[pid];
        return known->second;
    }

  private:
    std::map<uint32_t, uint32_t> next_; // by pid
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> later_;
};

} // namespace reap::native
