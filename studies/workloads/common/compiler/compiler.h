#pragma once

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "machine.h"

// A compiler of functions whose blocks nest: reads, builds trees, folds constants, writes code for a stack
// machine.
//
// Its memory is the program's, a class with
//     tree<T>(arguments...)     a T that lives until the trees are done
//     symbol<T>(arguments...)   a T that lives until its block is done
//     name(size)                so many letters, for as long
//     begin_block()             a place to come back to
//     end_block(place)          the block is done

namespace compiler {

/// An expression.
struct Tree {
    Operation operation;
    std::uint32_t slot;  // of a load
    std::uint64_t value; // of a number
    Tree *left;
    Tree *right;
};

/// A statement; statements of a block are a list.
struct Statement {
    enum class Kind : std::uint8_t { store, when, repeat, give };
    Kind kind;
    std::uint32_t slot; // that is stored to, or that counts a repetition
    Tree *value;        // stored, tested, the number of rounds, or returned
    Statement *inside;
    Statement *next;
};

/// A name that is visible. Symbols are a list, the innermost first.
struct Symbol {
    const char *name;
    std::size_t length;
    std::uint32_t slot;
    Symbol *outer;
};

/// Reads a function.
template <class Memory>
class Parser {
  public:
    explicit Parser(Memory &memory) : memory_(memory) {}

    /// The statements of a function.
    Statement *parse(std::string_view text) {
        text_ = text;
        at_ = 0;
        visible_ = nullptr;
        slots_ = 0;
        advance();
        expect("fn");
        advance(); // its name
        return block();
    }
    [[nodiscard]] std::size_t slots() const { return slots_; }

  private:
    void advance() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
        std::size_t end = at_;
        while (end < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
            ++end;
        if (end == at_ && end < text_.size()) ++end;
        token_ = text_.substr(at_, end - at_);
        at_ = end;
    }
    void expect(std::string_view token) {
        if (token_ != token) {
            std::fprintf(stderr, "compiler: '%.*s' where '%.*s' should be\n", static_cast<int>(token_.size()),
                         token_.data(), static_cast<int>(token.size()), token.data());
            std::abort();
        }
        advance();
    }

    /// What is declared in a block is of no use after its end.
    Statement *block() {
        expect("{");
        Symbol *const outside = visible_;
        const auto scope = memory_.begin_block();
        Statement *first = nullptr;
        Statement **last = &first;
        while (token_ != "}") {
            *last = statement();
            last = &(*last)->next;
        }
        advance();
        memory_.end_block(scope);
        visible_ = outside;
        return first;
    }

    Statement *statement() {
        const std::string_view first = token_;
        advance();
        auto *const made = memory_.template tree<Statement>();
        if (first == "let" || first == "return") {
            made->kind = first == "let" ? Statement::Kind::store : Statement::Kind::give;
            const std::string_view name = token_;
            if (first == "let") {
                advance();
                expect("=");
            }
            made->value = expression(0);
            if (first == "let") made->slot = declare(name);
            expect(";");
        } else if (first == "if" || first == "repeat") {
            made->kind = first == "if" ? Statement::Kind::when : Statement::Kind::repeat;
            made->value = expression(0);
            made->slot = first == "if" ? 0 : slots_++;
            made->inside = block();
        } else {
            expect("=");
            made->kind = Statement::Kind::store;
            made->slot = find(first);
            made->value = expression(0);
            expect(";");
        }
        return made;
    }

    std::uint32_t declare(std::string_view name) {
        char *const copy = memory_.name(name.size());
        std::memcpy(copy, name.data(), name.size());
        visible_ = memory_.template symbol<Symbol>(copy, name.size(), slots_++, visible_);
        return visible_->slot;
    }
    [[nodiscard]] std::uint32_t find(std::string_view name) const {
        for (const Symbol *symbol = visible_; symbol != nullptr; symbol = symbol->outer)
            if (std::string_view(symbol->name, symbol->length) == name) return symbol->slot;
        std::abort(); // the text declares what it uses
    }

    static std::pair<int, Operation> binding(std::string_view token) {
        switch (token.empty() ? '\0' : token[0]) {
        case '*':
            return {4, Operation::multiply};
        case '/':
            return {4, Operation::divide};
        case '+':
            return {3, Operation::add};
        case '-':
            return {3, Operation::subtract};
        case '<':
            return {2, Operation::less};
        case '&':
            return {1, Operation::conjunction};
        case '^':
            return {1, Operation::difference};
        default:
            return {0, Operation::number};
        }
    }

    /// By precedence climbing.
    Tree *expression(int least) {
        Tree *left = primary();
        while (true) {
            const auto [strength, operation] = binding(token_);
            if (strength <= least) return left;
            advance();
            Tree *const right = expression(strength);
            left = memory_.template tree<Tree>(operation, 0U, std::uint64_t{0}, left, right);
        }
    }
    Tree *primary() {
        const std::string_view token = token_;
        advance();
        if (token == "(") {
            Tree *const inside = expression(0);
            expect(")");
            return inside;
        }
        if (std::isdigit(static_cast<unsigned char>(token[0])) != 0) {
            std::uint64_t value = 0;
            for (const char digit : token) value = value * 10 + static_cast<std::uint64_t>(digit - '0');
            return memory_.template tree<Tree>(Operation::number, 0U, value, nullptr, nullptr);
        }
        return memory_.template tree<Tree>(Operation::load, find(token), std::uint64_t{0}, nullptr, nullptr);
    }

    Memory &memory_;
    std::string_view text_;
    std::string_view token_;
    std::size_t at_ = 0;
    Symbol *visible_ = nullptr;
    std::uint32_t slots_ = 0;
};

/// Makes new trees where something can be known before the program runs, as gcc's fold() does.
template <class Memory>
class Folder {
  public:
    explicit Folder(Memory &memory) : memory_(memory) {}

    void statements(Statement *first) {
        for (; first != nullptr; first = first->next) {
            first->value = fold(first->value);
            statements(first->inside);
        }
    }

  private:
    [[nodiscard]] Tree *fold(Tree *tree) {
        if (tree->left == nullptr) return tree;
        Tree *const left = fold(tree->left);
        Tree *const right = fold(tree->right);
        const bool left_known = left->operation == Operation::number;
        const bool right_known = right->operation == Operation::number;
        if (left_known && right_known) return number(calculate(tree->operation, left->value, right->value));
        switch (tree->operation) {
        case Operation::add:
            if (left_known && left->value == 0) return right;
            if (right_known && right->value == 0) return left;
            break;
        case Operation::multiply:
            if ((left_known && left->value == 0) || (right_known && right->value == 0)) return number(0);
            break;
        case Operation::subtract:
        case Operation::difference:
            if (same(left, right)) return number(0);
            break;
        default:
            break;
        }
        if (left == tree->left && right == tree->right) return tree;
        return memory_.template tree<Tree>(tree->operation, 0U, std::uint64_t{0}, left, right);
    }
    [[nodiscard]] Tree *number(std::uint64_t value) {
        return memory_.template tree<Tree>(Operation::number, 0U, value, nullptr, nullptr);
    }
    static bool same(const Tree *one, const Tree *two) {
        if (one == two) return true;
        if (one->operation != two->operation || one->slot != two->slot || one->value != two->value)
            return false;
        return one->left != nullptr && same(one->left, two->left) && same(one->right, two->right);
    }

    Memory &memory_;
};

/// Writes code, which outlives the function's trees.
class Generator {
  public:
    const std::vector<Instruction> &generate(const Statement *first) {
        code_.clear();
        statements(first);
        return code_;
    }

  private:
    void emit(Operation operation, std::uint64_t operand = 0) { code_.push_back({operation, operand}); }

    void statements(const Statement *first) {
        for (; first != nullptr; first = first->next) {
            value(first->value);
            const std::size_t start = code_.size();
            switch (first->kind) {
            case Statement::Kind::store:
                emit(Operation::store, first->slot);
                break;
            case Statement::Kind::give:
                emit(Operation::give);
                break;
            case Statement::Kind::when:
                emit(Operation::jump_if_zero);
                statements(first->inside);
                code_[start].operand = code_.size();
                break;
            case Statement::Kind::repeat:
                emit(Operation::store, first->slot);
                emit(Operation::count_down, first->slot);
                emit(Operation::jump_if_zero);
                statements(first->inside);
                emit(Operation::jump, start + 1);
                code_[start + 2].operand = code_.size();
                break;
            }
        }
    }
    void value(const Tree *tree) {
        if (tree->left != nullptr) {
            value(tree->left);
            value(tree->right);
            emit(tree->operation);
        } else {
            emit(tree->operation, tree->operation == Operation::load ? tree->slot : tree->value);
        }
    }

    std::vector<Instruction> code_;
};

} // namespace compiler
