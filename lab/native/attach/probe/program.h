// The BPF program behind each probe: it counts a call, and samples some with registers and stack.
//
// It is assembled here, instruction by instruction, so that neither a compiler for BPF nor a library is
// needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <linux/bpf.h>
#include <vector>

#include "attach/python/places.h"
#include "symbols/symbols.h"

namespace reap::native {

inline constexpr size_t kMostProbes = 240;
inline constexpr uint32_t kUprobeMulti = 48; // BPF_TRACE_UPROBE_MULTI, which older headers lack
inline constexpr uint32_t kStackChunk = 512;
inline constexpr uint32_t kStackChunks = 32;
inline constexpr uint32_t kMostSampledFrames = 160;

// What user space and the programs share: the one value of an array map.
struct ProbeState {
    uint64_t counting; // 0: calls are not counted
    uint64_t chance;   // of 2^32: how many calls are sampled
    uint64_t samples;
    uint64_t lost;             // samples for which the ring buffer had no space
    uint64_t python_ns;        // that reading Python's frames took
    uint64_t main_thread;      // what Python takes for the id of the first thread; 0: its own
    uint64_t met[kMostProbes]; // all calls that met a probe
    uint64_t calls[kMostProbes];
};

// A frame of CPython, of a function or of C.
struct SampledFrame {
    uint64_t frame; // where it lies
    uint64_t code;
    uint64_t instruction;
    uint64_t kind;   // the bytes from kPythonKind on
    uint64_t digest; // of what its code says; 0: could not be read
};
inline constexpr size_t kPythonKind = 64;

// One sampled call, as the programs write it to the ring buffer.
struct ProbeSample {
    enum Register : uint8_t {
        kRbx,
        kRbp,
        kR12,
        kR13,
        kR14,
        kR15,
        kSp,
        kIp,
        kRdi,
        kRsi,
        kRdx,
        kRcx,
        kRegisters
    };

    uint64_t time_ns;      // CLOCK_MONOTONIC
    uint32_t chunks;       // so many chunks of `stack` are valid
    uint32_t python_count; // and so many of `python`
    uint64_t chance;       // it was drawn with
    uint64_t registers[kRegisters];
    unsigned char stack[kStackChunks * kStackChunk]; // from the stack pointer on

    // Only where Python's frames are read:
    uint64_t python_call;                    // the innermost call of the interpreter, up to 3.12
    uint64_t python_cut;                     // 1: there are more frames
    SampledFrame python[kMostSampledFrames]; // innermost first
};
inline constexpr size_t kPlainSample = offsetof(ProbeSample, python_call);

struct ProbeKind {
    bool sampled = true;    // else calls are counted alone
    bool skip_null = false; // calls whose first argument is null are not counted
    // Neither are calls from these pieces of code, each from the instruction with the probe on (one below it
    // is 0 less the distance): functions that are counted themselves.
    std::vector<AddressRange> callers;
};

// The program of the probe with this number. `state` and `sampling` are descriptors of the maps; the second
// has the program that samples.
std::vector<bpf_insn> assemble_probe(uint32_t probe, const ProbeKind &kind, int state, int sampling);

// The program that samples a call that was counted, or does not. One for all probes: where a probe is set
// says the instruction pointer. `python`: samples have the frames of this interpreter; null: they end after
// `stack`.
std::vector<bpf_insn> assemble_sampling(int state, int ring, const PythonPlaces *python);

} // namespace reap::native
