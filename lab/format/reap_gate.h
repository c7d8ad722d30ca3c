// The gate of a trace of a part of the run: any process of the tree, and the launcher, opens and closes it.
//
// SPDX-License-Identifier: MIT
#ifndef REAP_GATE_H
#define REAP_GATE_H

#include <stdint.h>
#include <string.h>

#include "reap_trace.h"

namespace reap::format {

inline reap_gate gate_of(const reap_file_header &header) noexcept {
    return static_cast<reap_gate>(__atomic_load_n(&header.part.gate, __ATOMIC_ACQUIRE));
}

// The gate goes from one state to the next, unless it has. `at` gets the time first, so that whoever finds
// the new state finds a time that is not later.
inline void move_gate(reap_file_header &header, reap_gate from, reap_gate to, uint64_t &at,
                      uint64_t ticks) noexcept {
    uint64_t none = 0;
    uint32_t expected = from;
    __atomic_compare_exchange_n(&at, &none, ticks, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n(&header.part.gate, &expected, static_cast<uint32_t>(to), false,
                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// What starts or stops the recording has come: moves the gate if it waits for that. `is_start` and `is_stop`
// say what it is, `ticks` gives the time.
template <class Ticks>
void pass_gate(reap_file_header &header, bool is_start, bool is_stop, Ticks ticks) noexcept {
    const reap_gate gate = gate_of(header);
    if (gate == REAP_GATE_SHUT && is_start) {
        move_gate(header, REAP_GATE_SHUT, REAP_GATE_OPEN, header.part.began_ticks, ticks());
    } else if (gate == REAP_GATE_OPEN && is_stop) {
        move_gate(header, REAP_GATE_OPEN, REAP_GATE_ENDED, header.part.ended_ticks, ticks());
    }
}

// Whether a process that enters the phase `name` enters this one; empty: none does.
inline bool enters(const char *name, const char (&phase)[REAP_PHASE_BYTES]) noexcept {
    return phase[0] != '\0' && name != nullptr && strncmp(name, phase, REAP_PHASE_BYTES - 1) == 0;
}

} // namespace reap::format

#endif
