#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

// What the compiler writes code for.

namespace compiler {

enum class Operation : std::uint8_t {
    // of values
    number,
    load,
    add,
    subtract,
    multiply,
    divide,
    conjunction,
    difference,
    less,
    // of code alone
    store,
    jump,
    jump_if_zero,
    count_down,
    give
};

struct Instruction {
    Operation operation;
    std::uint64_t operand;
};

/// Of two values; what is divided by 0 is 0.
inline std::uint64_t calculate(Operation operation, std::uint64_t a, std::uint64_t b) {
    switch (operation) {
    case Operation::add:
        return a + b;
    case Operation::subtract:
        return a - b;
    case Operation::multiply:
        return a * b;
    case Operation::divide:
        return b == 0 ? 0 : a / b;
    case Operation::conjunction:
        return a & b;
    case Operation::difference:
        return a ^ b;
    case Operation::less:
        return a < b ? 1 : 0;
    default:
        std::abort();
    }
}

/// The stack machine. A function ends after so many instructions at the latest: loops in loops are long.
class Machine {
  public:
    std::uint64_t run(const std::vector<Instruction> &code, std::size_t slots) {
        slots_.assign(slots, 0);
        stack_.clear();
        std::size_t at = 0;
        for (std::size_t left = 20'000; left > 0; --left) {
            const Instruction &now = code[at++];
            switch (now.operation) {
            case Operation::number:
                stack_.push_back(now.operand);
                break;
            case Operation::load:
                stack_.push_back(slots_[now.operand]);
                break;
            case Operation::store:
                slots_[now.operand] = pop();
                break;
            case Operation::jump:
                at = now.operand;
                break;
            case Operation::jump_if_zero:
                if (pop() == 0) at = now.operand;
                break;
            // What is left before the round; it is below 0 when none is.
            case Operation::count_down:
                stack_.push_back(slots_[now.operand]--);
                break;
            case Operation::give:
                return pop();
            default: {
                const std::uint64_t right = pop();
                stack_.push_back(calculate(now.operation, pop(), right));
            }
            }
        }
        return slots_.empty() ? 0 : slots_[0];
    }

  private:
    std::uint64_t pop() {
        const std::uint64_t value = stack_.back();
        stack_.pop_back();
        return value;
    }
    std::vector<std::uint64_t> slots_;
    std::vector<std::uint64_t> stack_;
};

} // namespace compiler
