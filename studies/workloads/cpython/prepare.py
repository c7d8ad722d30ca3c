"""Makes modules of Python to be parsed: classes, functions, expressions. Always the same for one scale."""

import random
import sys
from pathlib import Path


def expression(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return chance.choice(
            ["self.total", "value", "other", "name", f"{chance.randint(0, 999)}", "'a word'"]
        )
    left, right = expression(chance, depth - 1), expression(chance, depth - 1)
    return chance.choice(
        [
            f"({left} {chance.choice('+-*|&')} {right})",
            f"[{left} for name in {right} if name]",
            f"call({left}, key={right})",
            f"{{'x': {left}, 'y': {right}}}",
            f"({left} if value else {right})",
        ]
    )


def function(chance: random.Random, number: int) -> list[str]:
    lines = [
        f"    def method_{number}(self, value: int, other: list[int] = ()) -> int:",
        '        """Does it."""',
    ]
    for _ in range(chance.randint(3, 8)):
        lines.append(f"        name = {expression(chance, chance.randint(1, 3))}")
        if chance.random() < 0.4:
            lines.append(f"        for each in {expression(chance, 1)}:")
            lines.append(f"            self.total += {expression(chance, 2)}")
        elif chance.random() < 0.4:
            lines.append(f"        if name == {expression(chance, 1)}:")
            lines.append(f"            return {expression(chance, 2)}")
    return [*lines, "        return value"]


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    for module in range(scale):
        chance = random.Random(1991 + module)  # noqa: S311 - no secret
        lines = ["import os", ""]
        for number in range(12):
            lines += [f"class Thing{number}:"]
            for method in range(8):
                lines += function(chance, method)
        (folder / f"module{module:03d}.py").write_text("\n".join(lines) + "\n", encoding="ascii")


main()
