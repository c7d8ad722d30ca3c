// Assembles programs of BPF, instruction by instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <linux/bpf.h>
#include <utility>
#include <vector>

namespace reap::native {

// Offsets are relative to a base; one below it is 0 less the distance. Jumps go to labels: those forwards are
// collected until their target is known.
class Assembler {
  public:
    using Label = std::vector<size_t>;

    void move(uint8_t to, uint8_t from) { operate(BPF_MOV, to, from); }
    void set(uint8_t to, int32_t value) { operate_value(BPF_MOV, to, value); }
    void plus(uint8_t to, int32_t value) { operate_value(BPF_ADD, to, value); }
    void operate(uint8_t operation, uint8_t to, uint8_t from) {
        add(static_cast<uint8_t>(BPF_ALU64 | operation | BPF_X), to, from, 0, 0);
    }
    void operate_value(uint8_t operation, uint8_t to, int32_t value) {
        add(static_cast<uint8_t>(BPF_ALU64 | operation | BPF_K), to, 0, 0, value);
    }
    void constant(uint8_t to, uint64_t value) {
        // NOLINTNEXTLINE(misc-redundant-expression): some of the names are 0
        add(BPF_LD | BPF_DW | BPF_IMM, to, 0, 0, static_cast<int32_t>(value));
        add(0, 0, 0, 0, static_cast<int32_t>(value >> 32));
    }
    // `width` is BPF_DW, BPF_W or BPF_B.
    void load(uint8_t to, uint8_t base, size_t offset, uint8_t width = BPF_DW) {
        add(static_cast<uint8_t>(BPF_LDX | BPF_MEM | width), to, base, static_cast<int16_t>(offset), 0);
    }
    void store(uint8_t base, size_t offset, uint8_t from, uint8_t width = BPF_DW) {
        add(static_cast<uint8_t>(BPF_STX | BPF_MEM | width), base, from, static_cast<int16_t>(offset), 0);
    }
    void store_value(uint8_t base, size_t offset, int32_t value, uint8_t width = BPF_W) {
        add(static_cast<uint8_t>(BPF_ST | BPF_MEM | width), base, 0, static_cast<int16_t>(offset), value);
    }
    // Atomically, to the 64 bits at `offset`.
    void add_to(uint8_t base, size_t offset, uint8_t from) {
        add(BPF_STX | BPF_ATOMIC | BPF_DW, base, from, static_cast<int16_t>(offset), BPF_ADD);
    }
    void increment(uint8_t base, size_t offset) {
        set(BPF_REG_1, 1);
        add_to(base, offset, BPF_REG_1);
    }
    // NOLINTBEGIN(misc-redundant-expression)
    void call(bpf_func_id function) { add(BPF_JMP | BPF_CALL, 0, 0, 0, static_cast<int32_t>(function)); }
    void map(uint8_t to, int descriptor, bool value) {
        add(BPF_LD | BPF_DW | BPF_IMM, to, value ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD, 0, descriptor);
        add(0, 0, 0, 0, 0);
    }
    void exit() { add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }
    // NOLINTEND(misc-redundant-expression)

    // Jumps if a register (operator) a number, or (operator) another register.
    void jump_if(uint8_t operation, uint8_t left, Label &label, int32_t right = 0) {
        label.push_back(code_.size());
        add(static_cast<uint8_t>(BPF_JMP | operation | BPF_K), left, 0, 0, right);
    }
    void jump_if_pair(uint8_t operation, uint8_t left, uint8_t right, Label &label) {
        label.push_back(code_.size());
        add(static_cast<uint8_t>(BPF_JMP | operation | BPF_X), left, right, 0, 0);
    }
    void jump(Label &label) { jump_if(BPF_JA, 0, label); }
    // The jumps to `label` lead here.
    void here(const Label &label) {
        for (const size_t from : label) code_[from].off = static_cast<int16_t>(code_.size() - from - 1);
    }
    // Where the next instruction is, for jumps back to it.
    [[nodiscard]] size_t place() const { return code_.size(); }
    void jump_back(size_t place) {
        Label label;
        jump(label);
        code_.back().off = static_cast<int16_t>(place - code_.size());
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

} // namespace reap::native
