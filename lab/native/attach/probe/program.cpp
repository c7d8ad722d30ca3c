#include "attach/probe/program.h"

#include <asm/ptrace.h>
#include <cstddef>
#include <iterator>

#include "attach/probe/assembler.h"
#include "attach/python/walk.h"

namespace reap::native {
namespace {

constexpr uint8_t kZero = BPF_REG_0;
constexpr uint8_t kContext = BPF_REG_6;
constexpr uint8_t kShared = BPF_REG_7;
constexpr uint8_t kSample = BPF_REG_8;
constexpr uint8_t kStack = BPF_REG_9;

void put_end(Assembler &out, const Assembler::Label &end) {
    out.here(end);
    out.set(kZero, 0); // perf itself writes nothing
    out.exit();
}

// Where the two programs begin.
void put_begin(Assembler &out, int state) {
    out.move(kContext, BPF_REG_1);
    out.map(kShared, state, true);
}

// Goes to `end` where the call comes from one of these pieces of code. The return address is on top of the
// stack: a probe stands where the function has not changed the stack pointer.
void put_caller_check(Assembler &out, const std::vector<AddressRange> &callers, Assembler::Label &end) {
    constexpr int32_t below = -static_cast<int32_t>(sizeof(uint64_t));
    Assembler::Label unknown;
    out.move(BPF_REG_1, BPF_REG_10);
    out.plus(BPF_REG_1, below);
    out.set(BPF_REG_2, sizeof(uint64_t));
    out.load(BPF_REG_3, kContext, offsetof(pt_regs, rsp));
    out.call(BPF_FUNC_probe_read_user);
    out.jump_if(BPF_JNE, BPF_REG_0, unknown);
    out.load(BPF_REG_2, BPF_REG_10, static_cast<size_t>(below));
    out.load(BPF_REG_1, kContext, offsetof(pt_regs, rip));
    out.operate(BPF_SUB, BPF_REG_2, BPF_REG_1);
    for (const AddressRange &caller : callers) {
        out.move(BPF_REG_1, BPF_REG_2);
        out.constant(BPF_REG_3, caller.begin);
        out.operate(BPF_SUB, BPF_REG_1, BPF_REG_3);
        out.constant(BPF_REG_3, caller.end - caller.begin);
        out.jump_if_pair(BPF_JLT, BPF_REG_1, BPF_REG_3, end);
    }
    out.here(unknown);
}

} // namespace

std::vector<bpf_insn> assemble_sampling(int state, int ring, const PythonPlaces *python) {
    Assembler out;
    Assembler::Label end;
    Assembler::Label full;
    Assembler::Label copied;
    put_begin(out, state);
    out.call(BPF_FUNC_get_prandom_u32);
    out.load(kStack, kShared, offsetof(ProbeState, chance));
    out.jump_if_pair(BPF_JGE, BPF_REG_0, kStack, end);

    out.map(BPF_REG_1, ring, false);
    out.set(BPF_REG_2, python != nullptr ? sizeof(ProbeSample) : kPlainSample);
    out.set(BPF_REG_3, 0);
    out.call(BPF_FUNC_ringbuf_reserve);
    out.jump_if(BPF_JEQ, BPF_REG_0, full);
    out.move(kSample, BPF_REG_0);
    out.store(kSample, offsetof(ProbeSample, chance), kStack);
    out.call(BPF_FUNC_ktime_get_ns);
    out.store(kSample, offsetof(ProbeSample, time_ns), BPF_REG_0);
    constexpr size_t sources[] = {offsetof(pt_regs, rbx), offsetof(pt_regs, rbp), offsetof(pt_regs, r12),
                                  offsetof(pt_regs, r13), offsetof(pt_regs, r14), offsetof(pt_regs, r15),
                                  offsetof(pt_regs, rsp), offsetof(pt_regs, rip), offsetof(pt_regs, rdi),
                                  offsetof(pt_regs, rsi), offsetof(pt_regs, rdx), offsetof(pt_regs, rcx)};
    static_assert(std::size(sources) == ProbeSample::kRegisters);
    for (size_t i = 0; i < std::size(sources); ++i) {
        out.load(BPF_REG_1, kContext, sources[i]);
        out.store(kSample, offsetof(ProbeSample, registers) + i * sizeof(uint64_t), BPF_REG_1);
    }
    // Piece by piece: a read that reaches beyond the stack gives nothing at all.
    out.load(kStack, kContext, offsetof(pt_regs, rsp));
    out.store_value(kSample, offsetof(ProbeSample, chunks), 0);
    for (uint32_t chunk = 0; chunk < kStackChunks; ++chunk) {
        out.move(BPF_REG_1, kSample);
        out.plus(BPF_REG_1, static_cast<int32_t>(offsetof(ProbeSample, stack) + size_t{chunk} * kStackChunk));
        out.set(BPF_REG_2, kStackChunk);
        out.move(BPF_REG_3, kStack);
        out.plus(BPF_REG_3, static_cast<int32_t>(chunk * kStackChunk));
        out.call(BPF_FUNC_probe_read_user);
        out.jump_if(BPF_JNE, BPF_REG_0, copied);
        out.store_value(kSample, offsetof(ProbeSample, chunks), static_cast<int32_t>(chunk + 1));
    }
    out.here(copied);
    out.store_value(kSample, offsetof(ProbeSample, python_count), 0);
    if (python != nullptr) put_python(out, *python);
    out.increment(kShared, offsetof(ProbeState, samples));
    out.move(BPF_REG_1, kSample);
    out.set(BPF_REG_2, BPF_RB_NO_WAKEUP);
    out.call(BPF_FUNC_ringbuf_submit);
    out.jump(end);

    out.here(full);
    out.increment(kShared, offsetof(ProbeState, lost));
    put_end(out, end);
    return out.take();
}

std::vector<bpf_insn> assemble_probe(uint32_t probe, const ProbeKind &kind, int state, int sampling) {
    Assembler out;
    Assembler::Label end;
    put_begin(out, state);
    out.increment(kShared, offsetof(ProbeState, met) + probe * sizeof(uint64_t));
    out.load(BPF_REG_1, kShared, offsetof(ProbeState, counting));
    out.jump_if(BPF_JEQ, BPF_REG_1, end);
    if (kind.skip_null) {
        out.load(BPF_REG_1, kContext, offsetof(pt_regs, rdi));
        out.jump_if(BPF_JEQ, BPF_REG_1, end);
    }
    if (!kind.callers.empty()) put_caller_check(out, kind.callers, end);
    out.increment(kShared, offsetof(ProbeState, calls) + probe * sizeof(uint64_t));
    if (kind.sampled) {
        out.move(BPF_REG_1, kContext);
        out.map(BPF_REG_2, sampling, false);
        out.set(BPF_REG_3, 0);
        out.call(BPF_FUNC_tail_call); // does not return, unless the map is empty
    }
    put_end(out, end);
    return out.take();
}

} // namespace reap::native
