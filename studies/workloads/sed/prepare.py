"""Makes text.txt: lines as logs, mails and tables have them. Always the same for one scale."""

import random
import sys
from pathlib import Path

NAMES = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi"]
PARTS = ["disk", "net", "cpu", "fan", "psu", "mem"]


def line(chance: random.Random, number: int) -> str:
    name, other = chance.choice(NAMES), chance.choice(NAMES)
    match number % 4:
        case 0:
            address = ".".join(str(chance.randint(1, 254)) for _ in range(4))
            date = f"2002-{number % 12 + 1:02d}-{number % 28 + 1:02d}"
            return f"{date} {address} GET /{name}/{other}?id={number} 200"
        case 1:
            subject = f"{chance.choice(PARTS)} {number}"
            return f"From: {name}@example.org To: {other}@example.net  Subject: {subject}"
        case 2:
            return f'{number},"{name}, {other}",{chance.random():.6f},{chance.choice(PARTS)}'
        case _:
            return f"the   {chance.choice(PARTS)} of {name}  was   seen by {other} (ticket #{number:06d})"


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(20020103)  # noqa: S311 - no secret
    with (folder / "text.txt").open("w", encoding="ascii") as file:
        file.writelines(line(chance, number) + "\n" for number in range(scale * 1000))


main()
