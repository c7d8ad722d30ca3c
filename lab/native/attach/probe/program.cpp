#include "attach/probe/program.h"

#include <asm/ptrace.h>
#include <cstddef>
#include <iterator>

namespace reap::native {
namespace {

constexpr uint8_t kZero = BPF_REG_0;
constexpr uint8_t kContext = BPF_REG_6;
constexpr uint8_t kShared = BPF_REG_7;
constexpr uint8_t kSample = BPF_REG_8;
constexpr uint8_t kStack = BPF_REG_9;

// Assembles instructions; jumps go to labels.
class Assembler {
  public:
    void move(uint8_t to, uint8_t from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
    void set(uint8_t to, int32_t value) { add(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
    // NOLINTBEGIN(misc-redundant-expression): some of the names are 0
    void plus(uint8_t to, int32_t value) { add(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value); }
    void load(uint8_t to, uint8_t base, size_t offset) {
        add(BPF_LDX | BPF_MEM | BPF_DW, to, base, static_cast<int16_t>(offset), 0);
    }
    void store(uint8_t base, size_t offset, uint8_t from, bool wide = true) {
        add(BPF_STX | BPF_MEM | (wide ? BPF_DW : BPF_W), base, from, static_cast<int16_t>(offset), 0);
    }
    void store_value(uint8_t base, size_t offset, int32_t value) {
        add(BPF_ST | BPF_MEM | BPF_W, base, 0, static_cast<int16_t>(offset), value);
    }
    // Atomically, the 64 bits at `offset`.
    void increment(uint8_t base, size_t offset) {
        set(BPF_REG_1, 1);
        add(BPF_STX | BPF_ATOMIC | BPF_DW, base, BPF_REG_1, static_cast<int16_t>(offset), BPF_ADD);
    }
    void call(bpf_func_id function) { add(BPF_JMP | BPF_CALL, 0, 0, 0, static_cast<int32_t>(function)); }
    void map(uint8_t to, int descriptor, bool value) {
        add(BPF_LD | BPF_DW | BPF_IMM, to, value ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD, 0, descriptor);
        add(0, 0, 0, 0, 0);
    }
    // NOLINTEND(misc-redundant-expression)
    void exit() { add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

    // Jumps if a register (operator) zero, or (operator) another register.
    void jump_if(uint8_t operation, uint8_t left, std::vector<size_t> &label) {
        label.push_back(code_.size());
        add(static_cast<uint8_t>(BPF_JMP | operation | BPF_K), left, 0, 0, 0);
    }
    void jump_if(uint8_t operation, uint8_t left, uint8_t right, std::vector<size_t> &label) {
        label.push_back(code_.size());
        add(static_cast<uint8_t>(BPF_JMP | operation | BPF_X), left, right, 0, 0);
    }
    // The jumps to `label` lead here.
    void here(const std::vector<size_t> &label) {
        for (const size_t from : label) code_[from].off = static_cast<int16_t>(code_.size() - from - 1);
    }

    std::vector<bpf_insn> take() { return std::move(code_); }

  private:
    void add(uint8_t code, uint8_t to, uint8_t from, int16_t offset, int32_t value) {
        bpf_insn made{};
        made.code = code;
        made.dst_reg = to & 15;
        made.src_reg = from & 15;
        made.off = offset;
        made.imm = value;
        code_.push_back(made);
    }

    std::vector<bpf_insn> code_;
};

// Samples the call that is at hand, or jumps to `end`.
void put_sampling(Assembler &out, uint32_t probe, int ring, std::vector<size_t> &end) {
    std::vector<size_t> full;
    std::vector<size_t> copied;
    out.call(BPF_FUNC_get_prandom_u32);
    out.load(kStack, kShared, offsetof(ProbeState, chance));
    out.jump_if(BPF_JGE, BPF_REG_0, kStack, end);

    out.map(BPF_REG_1, ring, false);
    out.set(BPF_REG_2, sizeof(ProbeSample));
    out.set(BPF_REG_3, 0);
    out.call(BPF_FUNC_ringbuf_reserve);
    out.jump_if(BPF_JEQ, BPF_REG_0, full);
    out.move(kSample, BPF_REG_0);
    out.store(kSample, offsetof(ProbeSample, chance), kStack);
    out.call(BPF_FUNC_ktime_get_ns);
    out.store(kSample, offsetof(ProbeSample, time_ns), BPF_REG_0);
    out.store_value(kSample, offsetof(ProbeSample, probe), static_cast<int32_t>(probe));
    constexpr size_t sources[] = {offsetof(pt_regs, rbx), offsetof(pt_regs, rbp), offsetof(pt_regs, r12),
                                  offsetof(pt_regs, r13), offsetof(pt_regs, r14), offsetof(pt_regs, r15),
                                  offsetof(pt_regs, rsp), offsetof(pt_regs, rip), offsetof(pt_regs, rdi),
                                  offsetof(pt_regs, rsi), offsetof(pt_regs, rdx)};
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
    out.increment(kShared, offsetof(ProbeState, samples));
    out.move(BPF_REG_1, kSample);
    out.set(BPF_REG_2, BPF_RB_NO_WAKEUP);
    out.call(BPF_FUNC_ringbuf_submit);
    out.set(kZero, 0);
    out.exit();

    out.here(full);
    out.increment(kShared, offsetof(ProbeState, lost));
}

} // namespace

std::vector<bpf_insn> assemble_probe(uint32_t probe, ProbeKind kind, int state, int ring) {
    Assembler out;
    std::vector<size_t> end;

    out.move(kContext, BPF_REG_1);
    out.map(kShared, state, true);
    out.increment(kShared, offsetof(ProbeState, met) + probe * sizeof(uint64_t));
    out.load(BPF_REG_1, kShared, offsetof(ProbeState, counting));
    out.jump_if(BPF_JEQ, BPF_REG_1, end);
    if (kind.skip_null) {
        out.load(BPF_REG_1, kContext, offsetof(pt_regs, rdi));
        out.jump_if(BPF_JEQ, BPF_REG_1, end);
    }
    out.increment(kShared, offsetof(ProbeState, calls) + probe * sizeof(uint64_t));
    if (kind.sampled) put_sampling(out, probe, ring, end);
    out.here(end);
    out.set(kZero, 0); // perf itself writes nothing
    out.exit();
    return out.take();
}

} // namespace reap::native
