// An optimizer of flow graphs on the standard library's lists, sets and maps: live variables, dead code,
// constants, common subexpressions, until nothing changes. It stands for C-Breeze, whose containers used the
// pooling allocator of the STL of its time; here that is a SizeClassAllocator.
//
// The naive variant is the same program with nodes from malloc: another template argument. Scale: functions.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <reap/face/allocator.h>
#include <reap/layer/size_class_allocator.h>
#include <reap/source/malloc.h>

#include "common/workload.h"

namespace {

/// Nodes of lists, sets and maps; their chunks come from malloc, so that what serves malloc serves both
/// variants.
using NodePool = reap::SizeClassAllocator<reap::Malloc, 40, 48, 64, 96>;

using Register = unsigned;
constexpr Register registers = 48;

enum class Operation : std::uint8_t { constant, copy, add, multiply, difference, observe };

struct Instruction {
    Operation operation;
    Register target; // of all but observe
    Register a;      // of all but constant
    Register b;      // of add, multiply and difference
    std::uint64_t value;

    [[nodiscard]] bool is_binary() const {
        return operation == Operation::add || operation == Operation::multiply ||
               operation == Operation::difference;
    }
    [[nodiscard]] bool has_target() const { return operation != Operation::observe; }
    [[nodiscard]] std::uint64_t calculate(std::uint64_t left, std::uint64_t right) const {
        switch (operation) {
        case Operation::add:
            return left + right;
        case Operation::multiply:
            return left * right;
        default:
            return left ^ right;
        }
    }
};

/// What an instruction computes: two that are equal, and whose registers have not changed meanwhile, give the
/// same.
struct Expression {
    Operation operation;
    Register a, b;
    friend auto operator<=>(const Expression &, const Expression &) = default;
};

template <reap::Source Layer>
class Function {
    template <class T>
    using Allocator = reap::StlAllocator<T, Layer>;
    using Instructions = std::list<Instruction, Allocator<Instruction>>;
    using Registers = std::set<Register, std::less<>, Allocator<Register>>;
    template <class Key, class Value>
    using Map = std::map<Key, Value, std::less<>, Allocator<std::pair<const Key, Value>>>;

    struct Block {
        explicit Block(Layer &nodes) : body(nodes), live_at_begin(nodes) {}
        Instructions body;
        Registers live_at_begin;
        Register decides = 0;     // where to go: it is odd or even
        std::size_t next[2] = {}; // blocks; the first block is the only way in
    };

  public:
    /// Draws a function by chance. Blocks go on to others near by, back as well: loops in loops.
    Function(Layer &nodes, workload::Random &random) : nodes_(nodes) {
        const std::size_t count = 20 + random.below(40);
        blocks_.reserve(count);
        const auto any = [&random] { return static_cast<Register>(random.below(registers)); };
        for (std::size_t at = 0; at < count; ++at) {
            Block &block = blocks_.emplace_back(nodes);
            for (std::size_t left = 6 + random.below(20); left > 0; --left) {
                const std::size_t chance = random.below(100);
                const auto operation = chance < 20   ? Operation::constant
                                       : chance < 35 ? Operation::copy
                                       : chance < 92 ? static_cast<Operation>(2 + random.below(3))
                                                     : Operation::observe;
                // Few sources, so that expressions repeat.
                const Register a = random.percent(60) ? any() % 8 : any();
                block.body.push_back({operation, any(), a, any() % 12, random.below(100)});
            }
            block.decides = any();
            for (std::size_t &next : block.next)
                next = random.percent(70) ? (at + 1) % count : (at + count - 4 + random.below(12)) % count;
        }
    }

    /// Until nothing changes; returns how many rounds that took.
    std::size_t optimize() {
        std::size_t rounds = 0;
        for (bool changed = true; changed; ++rounds) {
            changed = false;
            for (Block &block : blocks_) changed |= propagate(block);
            for (Block &block : blocks_) changed |= share(block);
            find_live();
            for (Block &block : blocks_) changed |= remove_dead(block);
        }
        return rounds;
    }

    /// What the function does: what it observes in its first so many blocks.
    [[nodiscard]] std::uint64_t run(std::size_t steps) const {
        std::vector<std::uint64_t> values(registers, 1);
        workload::Checksum observed;
        std::size_t at = 0;
        for (; steps > 0; --steps) {
            const Block &block = blocks_[at];
            for (const Instruction &instruction : block.body) {
                switch (instruction.operation) {
                case Operation::constant:
                    values[instruction.target] = instruction.value;
                    break;
                case Operation::copy:
                    values[instruction.target] = values[instruction.a];
                    break;
                case Operation::observe:
                    observed.add(values[instruction.a]);
                    break;
                default:
                    values[instruction.target] =
                        instruction.calculate(values[instruction.a], values[instruction.b]);
                }
            }
            at = block.next[values[block.decides] % 2];
        }
        return observed.value();
    }

    [[nodiscard]] std::size_t size() const {
        std::size_t count = 0;
        for (const Block &block : blocks_) count += block.body.size();
        return count;
    }

  private:
    /// Within a block: what is known to be constant is put in, and copies are seen through.
    bool propagate(Block &block) {
        Map<Register, std::uint64_t> constants(nodes_);
        Map<Register, Register> copies(nodes_);
        bool changed = false;
        for (Instruction &instruction : block.body) {
            const auto see_through = [&](Register &from) {
                if (const auto copy = copies.find(from); copy != copies.end()) {
                    from = copy->second;
                    changed = true;
                }
            };
            if (instruction.operation != Operation::constant) see_through(instruction.a);
            if (instruction.is_binary()) see_through(instruction.b);

            const auto a = constants.find(instruction.a);
            if (instruction.operation == Operation::copy && a != constants.end()) {
                instruction = {Operation::constant, instruction.target, 0, 0, a->second};
                changed = true;
            } else if (instruction.is_binary() && a != constants.end()) {
                if (const auto b = constants.find(instruction.b); b != constants.end()) {
                    instruction = {Operation::constant, instruction.target, 0, 0,
                                   instruction.calculate(a->second, b->second)};
                    changed = true;
                }
            }
            if (!instruction.has_target()) continue;
            constants.erase(instruction.target);
            copies.erase(instruction.target);
            std::erase_if(copies, [&](const auto &copy) { return copy.second == instruction.target; });
            if (instruction.operation == Operation::constant)
                constants.emplace(instruction.target, instruction.value);
            if (instruction.operation == Operation::copy && instruction.a != instruction.target)
                copies.emplace(instruction.target, instruction.a);
        }
        return changed;
    }

    /// Within a block: what was computed before is copied instead.
    bool share(Block &block) {
        Map<Expression, Register> computed(nodes_);
        bool changed = false;
        for (Instruction &instruction : block.body) {
            const Expression expression{instruction.operation, instruction.a, instruction.b};
            const bool is_expression = instruction.is_binary();
            if (is_expression) {
                if (const auto before = computed.find(expression); before != computed.end()) {
                    instruction = {Operation::copy, instruction.target, before->second, 0, 0};
                    changed = true;
                }
            }
            if (!instruction.has_target()) continue;
            std::erase_if(computed, [&](const auto &known) {
                return known.second == instruction.target || known.first.a == instruction.target ||
                       known.first.b == instruction.target;
            });
            if (instruction.is_binary() && instruction.target != expression.a &&
                instruction.target != expression.b)
                computed.emplace(expression, instruction.target);
        }
        return changed;
    }

    /// Which registers are read later, at the begin of each block: over all blocks, the last first, until it
    /// is stable.
    void find_live() {
        for (Block &block : blocks_) block.live_at_begin.clear();
        for (bool changed = true; changed;) {
            changed = false;
            for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
                Registers live = live_at_end(*block);
                for (auto at = block->body.rbegin(); at != block->body.rend(); ++at) pass_back(live, *at);
                if (live == block->live_at_begin) continue;
                block->live_at_begin.swap(live);
                changed = true;
            }
        }
    }
    [[nodiscard]] Registers live_at_end(const Block &block) const {
        Registers live(nodes_);
        live.insert(block.decides);
        for (const std::size_t next : block.next)
            live.insert(blocks_[next].live_at_begin.begin(), blocks_[next].live_at_begin.end());
        return live;
    }
    /// From behind an instruction to before it.
    static void pass_back(Registers &live, const Instruction &instruction) {
        if (instruction.has_target()) live.erase(instruction.target);
        if (instruction.operation != Operation::constant) live.insert(instruction.a);
        if (instruction.is_binary()) live.insert(instruction.b);
    }

    bool remove_dead(Block &block) {
        Registers live = live_at_end(block);
        bool changed = false;
        for (auto at = block.body.end(); at != block.body.begin();) {
            --at;
            if (at->has_target() && !live.contains(at->target)) {
                at = block.body.erase(at);
                changed = true;
            } else {
                pass_back(live, *at);
            }
        }
        return changed;
    }

    Layer &nodes_;
    std::vector<Block> blocks_;
};

template <reap::Source Layer>
int optimize(std::size_t functions) {
    Layer nodes;
    workload::Random random(2001);
    workload::Checksum checksum;
    std::size_t before = 0;
    std::size_t after = 0;
    std::size_t rounds = 0;
    for (std::size_t number = 0; number < functions; ++number) {
        Function<Layer> function(nodes, random);
        before += function.size();
        const std::uint64_t meaning = function.run(200);
        rounds += function.optimize();
        after += function.size();
        if (function.run(200) != meaning) {
            std::fprintf(stderr, "flow-optimizer: function %zu does not do what it did\n", number);
            return 1;
        }
        checksum.add(meaning);
        checksum.add(function.size());
    }
    std::printf("%zu functions, %zu instructions before, %zu after %zu rounds\n", functions, before, after,
                rounds);
    workload::print(checksum);
    return 0;
}

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 1500};
    if (!workload::read(count, words, options)) return 2;
    return options.naive ? optimize<reap::Malloc>(options.scale) : optimize<NodePool>(options.scale);
}
