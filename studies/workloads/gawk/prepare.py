"""Makes log.txt: what a web server might have logged. Always the same for one scale."""

import random
import sys
from pathlib import Path

AGENTS = ["Mozilla/5.0 (X11; Linux)", "curl/7.88", "Wget/1.21", "Mozilla/5.0 (compatible; a robot)"]


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(20020103)  # noqa: S311 - no secret
    with (folder / "log.txt").open("w", encoding="ascii") as file:
        for number in range(scale * 1000):
            host = f"10.{chance.randrange(4)}.{chance.randrange(256)}.{chance.randrange(256)}"
            page = f"/{chance.choice('abcdefgh')}/{int(chance.paretovariate(0.6)) % 5000}.html"
            status = chance.choice(["200"] * 9 + ["404", "304", "500"])
            file.write(
                f'{host} [{number // 86400:03d}:{number % 86400:05d}] "GET {page} HTTP/1.1" {status} '
                f'{chance.randrange(200, 90000)} "{chance.choice(AGENTS)}"\n'
            )


main()
