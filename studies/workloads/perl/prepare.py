"""Makes text.txt: lines of words whose frequencies fall off as Zipf says. Always the same for one scale."""

import itertools
import random
import sys
from pathlib import Path

WORDS = 12_000
LINE = 14
SYLLABLES = ["ba", "con", "dre", "fi", "gal", "hor", "im", "ju", "ka", "lo", "mer", "nu", "pos", "qua", "ri"]


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(20020101)  # noqa: S311 - no secret
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) + str(n % 97) for n in range(WORDS)]
    weights = list(itertools.accumulate(1 / (n + 3) for n in range(WORDS)))
    with (folder / "text.txt").open("w", encoding="ascii") as file:
        for number in range(scale * 1000):
            line = " ".join(chance.choices(words, cum_weights=weights, k=LINE))
            file.write(f"{number:07d} 2002-{number % 12 + 1:02d}-{number % 28 + 1:02d} {line}.\n")


main()
