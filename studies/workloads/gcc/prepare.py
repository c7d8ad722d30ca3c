"""Makes program.c: functions with loops, branches, structures and calls. Always the same for one scale."""

import random
import sys
from pathlib import Path

HEAD = """struct node { struct node *left, *right; long key, weight; char name[24]; };
extern struct node *find(struct node *, long);
static long mix(long a, long b) { return (a ^ (b << 7)) + (b >> 3); }
"""


def expression(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return chance.choice(["a", "b", "i", "total", "n->key", "n->weight", str(chance.randint(1, 999))])
    left, right = expression(chance, depth - 1), expression(chance, depth - 1)
    return f"({left} {chance.choice(['+', '-', '*', '^', '&', '|'])} {right})"


def function(chance: random.Random, number: int) -> str:
    lines = [f"long f{number}(struct node *n, long a, long b) {{", "    long total = 0;"]
    for loop in range(chance.randint(2, 4)):
        lines.append(f"    for (long i = {loop}; i < b; i++) {{")
        for _ in range(chance.randint(2, 4)):
            lines.append(f"        if ({expression(chance, 2)} > {chance.randint(1, 9999)})")
            lines.append(f"            total += mix({expression(chance, 3)}, {expression(chance, 1)});")
            lines.append(f"        else if (n) n = n->{chance.choice(['left', 'right'])};")
        lines.append("        if (!n) n = find(n, i);")
        lines.append(f"        switch (total & 7) {{ case 1: total += {expression(chance, 1)}; break;")
        lines.append("        case 3: total ^= n->name[i & 15]; break;")
        lines.append(f"        default: a += {chance.randint(1, 99)}; }}")
        lines.append("    }")
    if number:
        lines.append(f"    total += f{chance.randrange(number)}(n, total, a & 15);")
    lines += ["    return total;", "}"]
    return "\n".join(lines) + "\n"


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(20020102)  # noqa: S311 - no secret
    text = HEAD + "".join(function(chance, number) for number in range(scale * 10))
    (folder / "program.c").write_text(text, encoding="ascii")


main()
