/* The parts of a perf sample that more than one kind of event has.
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

/// What every event asks for of the user's side, at the end of a sample: two registers and some stack.
constexpr std::uint64_t user_side = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

/// The user's side of a sample.
struct UserSide {
    static constexpr std::uint32_t stack_bytes = 128;

    std::uint64_t stack_pointer = 0;
    std::uint64_t pointer = 0; ///< of the instruction; 0 where there is no user's side
    std::uint64_t count = 0;
    std::uint64_t words[stack_bytes / sizeof(std::uint64_t)] = {};

    /// Appends the count and the words.
    void put_words(TraceBlocks::Record &record) const {
        record.number(count);
        for (std::uint64_t i = 0; i < count; ++i) record.number(words[i]);
    }
};

/// An event as all of ours are begun: inherited, on the trace's clock, with the user's side of each sample.
perf_event_attr begin_attributes(std::uint32_t type, std::uint64_t config, std::uint64_t period,
                                 bool running);

/// Reads the registers and the stack that `user_side` asks for.
UserSide read_user_side(Fields &fields);

} // namespace reap::spawn

#endif
