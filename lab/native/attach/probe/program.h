// The BPF program behind each probe: it counts a call, and samples some with registers and stack.
//
// It is assembled here, instruction by instruction, so that neither a compiler for BPF nor a library is
// needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <linux/bpf.h>
#include <vector>

namespace reap::native {

inline constexpr size_t kMostProbes = 48;
inline constexpr uint32_t kStackChunk = 512;
inline constexpr uint32_t kStackChunks = 32;

// What user space and the programs share: the one value of an array map.
struct ProbeState {
    uint64_t counting; // 0: calls are not counted
    uint64_t chance;   // of 2^32: how many calls are sampled
    uint64_t samples;
    uint64_t lost;             // samples for which the ring buffer had no room
    uint64_t met[kMostProbes]; // all calls that met a probe
    uint64_t calls[kMostProbes];
};

// One sampled call, as the programs write it to the ring buffer.
struct ProbeSample {
    enum Register : uint8_t { kRbx, kRbp, kR12, kR13, kR14, kR15, kSp, kIp, kRdi, kRsi, kRdx, kRegisters };

    uint64_t time_ns; // CLOCK_MONOTONIC
    uint32_t probe;
    uint32_t chunks; // so many chunks of `stack` are valid
    uint64_t chance; // it was drawn with
    uint64_t registers[kRegisters];
    unsigned char stack[kStackChunks * kStackChunk]; // from the stack pointer on
};

struct ProbeKind {
    bool sampled = true;    // else calls are counted alone
    bool skip_null = false; // calls whose first argument is null are not counted
};

// The program of the probe with this number. `state` and `ring` are descriptors of the maps.
std::vector<bpf_insn> assemble_probe(uint32_t probe, ProbeKind kind, int state, int ring);

} // namespace reap::native
