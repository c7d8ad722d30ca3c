"""Programs in Python whose cause is known by construction.

cause.py NAME [SCALE [cured]]: like cause.c.
"""

import gc
import itertools
import json
import sys
import threading


def growing(scale: float, cured: bool) -> None:
    """A log of what was answered, kept for ever. Cured, its last five entries are."""
    gc.disable()  # what it costs to collect is the fault of another program
    kept: list[bytes] = []
    for number in range(int(250_000 * scale) * (4 if cured else 1)):
        kept.append(b"%d" % number * 160)
        if cured and len(kept) > 5:
            kept.clear()
    sys.stdout.write(f"{len(kept) > 0}\n")


def parsing(scale: float, cured: bool) -> None:
    """A document of numbers, read again for each request of one of them. Cured, it is read once."""
    gc.disable()
    text = json.dumps([number * 7 for number in range(20_000)])
    document, found = json.loads(text), 0
    for number in range(int(1000 * scale)):
        if not cured:
            document = json.loads(text)
        found += document[number]
    for _ in range(int(5000 * scale)) if cured else ():
        found += sum(document) % 2
    sys.stdout.write(f"{found > 0}\n")


def nothing(scale: float, cured: bool) -> None:
    """Bits of an integer so small that CPython has it already."""
    del cured
    number = 1
    for _ in itertools.repeat(None, int(12_000_000 * scale)):
        number = (number * 5 + 3) & 31
    sys.stdout.write(f"{number}\n")


def locked(scale: float, cured: bool) -> None:
    """Four threads that do all their work under one lock. Cured, one thread does all of it."""
    lock = threading.Lock()
    count = 1 if cured else 4
    turns = int(600 * scale) // count

    def work() -> None:
        for _ in range(turns):
            with lock:
                sum(range(100_000))

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stdout.write("done\n")


if __name__ == "__main__":
    modes = {"growing": growing, "parsing": parsing, "nothing": nothing, "locked": locked}
    modes[sys.argv[1]](float(sys.argv[2]) if len(sys.argv) > 2 else 1.0, sys.argv[3:] == ["cured"])
