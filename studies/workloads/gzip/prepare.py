"""Makes text.txt: words and numbers in lines. Always the same for one scale."""

import random
import sys
from pathlib import Path


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(1992)  # noqa: S311 - no secret
    words = ["".join(chance.choices("aeinorst", k=chance.randint(2, 9))) for _ in range(4000)]
    left = scale * 1_000_000
    with (folder / "text.txt").open("w", encoding="ascii") as file:
        while left > 0:
            line = " ".join(chance.choices(words, k=11)) + f" {chance.randrange(10**6)}\n"
            left -= file.write(line)


main()
