#pragma once

#include <cstddef>
#include <string>

#include "common/workload.h"

// The input of the compiler: functions in a small language, drawn by chance, whose blocks nest.

namespace compiler {

/// Writes one function after the other.
class SourceText {
  public:
    explicit SourceText(std::uint64_t seed) : random_(seed) {}

    /// The text of a function. It holds until the next call.
    const std::string &next_function() {
        text_.clear();
        names_ = 0;
        text_ += "fn f" + std::to_string(++functions_) + " {\n";
        declare(1);
        block(1, 120 + random_.below(200));
        text_ += "return ";
        expression(3);
        text_ += ";\n}\n";
        return text_;
    }

  private:
    void indent(std::size_t depth) { text_.append(depth * 2, ' '); }

    /// Names grow with their number, and repeat in blocks side by side: each block sees those around it.
    void name(std::size_t number) {
        static constexpr const char *stems[] = {"left", "right", "count", "offset", "temporary", "mask", "n"};
        text_ += stems[number % 7];
        text_ += '_';
        text_ += std::to_string(number);
    }

    void declare(std::size_t depth) {
        indent(depth);
        text_ += "let ";
        name(names_);
        text_ += " = ";
        expression(3);
        text_ += ";\n";
        ++names_; // after the expression, which cannot use it
    }

    void block(std::size_t depth, std::size_t statements) {
        const std::size_t outside = names_;
        while (statements > 0) {
            const std::size_t chance = random_.below(100);
            --statements;
            if (chance < 25) {
                declare(depth);
            } else if (chance < 75 || depth > 6 || statements < 4) {
                indent(depth);
                name(random_.below(names_));
                text_ += " = ";
                expression(5);
                text_ += ";\n";
            } else {
                const std::size_t inside = 1 + random_.below(statements / 2);
                const bool loop = chance < 80;
                indent(depth);
                text_ += loop ? "repeat " : "if ";
                if (loop) {
                    text_ += std::to_string(1 + random_.below(3));
                } else {
                    expression(2);
                }
                text_ += " {\n";
                block(depth + 1, inside);
                indent(depth);
                text_ += "}\n";
                statements -= inside;
            }
        }
        names_ = outside;
    }

    void expression(std::size_t depth) {
        static constexpr const char *operators[] = {" + ", " - ", " * ", " / ", " & ", " ^ ", " < "};
        if (depth == 0 || random_.percent(20)) {
            if (names_ > 0 && random_.percent(65)) {
                name(random_.below(names_));
            } else {
                text_ += std::to_string(random_.below(1000));
            }
            return;
        }
        const bool parentheses = random_.percent(40);
        if (parentheses) text_ += '(';
        expression(depth - 1);
        text_ += operators[random_.below(7)];
        expression(depth - 1);
        if (parentheses) text_ += ')';
    }

    workload::Random random_;
    std::string text_;
    std::size_t names_ = 0; // visible here
    std::size_t functions_ = 0;
};

} // namespace compiler
