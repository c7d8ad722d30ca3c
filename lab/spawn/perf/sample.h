/* The parts of a perf sample that several kinds of events share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_PERF_SAMPLE_H
#define REAP_SPAWN_PERF_SAMPLE_H

#include <asm/perf_regs.h>
#include <cstdint>
#include <linux/perf_event.h>

#include "perf/rings.h"
#include "trace/block.h"

namespace reap::spawn {

/// The user-mode fields at the end of every sample: two registers and the top of the stack.
constexpr std::uint64_t user_side = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

/// The user-mode state of a sample.
struct UserSide {
    static constexpr std::uint32_t stack_bytes = 128;

    std::uint64_t stack_pointer = 0;
    std::uint64_t pointer = 0; ///< instruction pointer; 0 if there is no user-mode state
    std::uint64_t count = 0;
    std::uint64_t words[stack_bytes / sizeof(std::uint64_t)] = {};

    /// Appends the count and the words.
    void put_words(TraceBlocks::Record &record) const {
        record.number(count);
        for (std::uint64_t i = 0; i < count; ++i) record.number(words[i]);
    }
};

/// The attributes common to all events: inherited, on the trace's clock, with the user-mode state.
perf_event_attr begin_attributes(std::uint32_t type, std::uint64_t config, std::uint64_t period,
                                 bool running);

/// Reads the registers and the stack that `user_side` requests.
UserSide read_user_side(Fields &fields);

} // namespace reap::spawn

#endif
