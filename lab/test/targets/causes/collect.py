"""Held back by CPython's collector of cycles: many objects that live, and pairs that hold each other.

collect.py [SCALE [cured]]: cured, the collector is off, and of each pair only the first holds the other, so
that counting references frees both.
"""

import gc
import sys


class Node:
    """Holds another."""

    def __init__(self) -> None:
        self.other: Node | None = None


def main() -> None:
    """Makes cycles beside a large live heap, which the collector visits again and again."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    cured = sys.argv[2:] == ["cured"]
    if cured:
        gc.disable()
    living = [[number] for number in range(300_000)]
    kept = []
    made = 0
    for number in range(int(1_000_000 * scale)):
        one, two = Node(), Node()
        one.other, two.other = two, None if cured else one
        made += 2
        if number % 3 == 0:
            kept.append(one)
    sys.stdout.write(f"{made} {len(living)} {len(kept)}\n")


if __name__ == "__main__":
    main()
