"""What restarts do to runs at the same time, and what a CPU quota does: unpaired tails, and no bias.

    .venv/bin/python lab/bench/compare/restarts.py [--rounds 10] [--keep FILE] [PART...]

Parts, all of them without any:

- tail: a program, itself and one of the same kind that does more or less, on one core. The unpaired tail (the
  part of the longer run of a pair without anything of the other beside it) and the ratio of CPU times, where
  the longest ends alone, and where those that end before are restarted. And the ratio one after another.
- quota: each program against itself, and perl with mimalloc, free and in a control group of half a core.
  Needs a cgroup of the cpu controller that can be made.

All of a round are interleaved, so that they meet the same machine. Prints geometric means with their 95 % CI.
With --keep each figure is appended to FILE, and those that it has count, too: hours can be made in parts.
"""

import argparse
import contextlib
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from scipy.special import stdtrit

from reap.allocators import catalog
from reap.compare import analyse
from reap.experiment.records import Cell, Run
from reap.launch import spawn, together
from reap.launch.host import cgroups, quota
from reap.launch.records import Launch, Outcome

TIMES = (0.78, 3.0)
TURNS = r"""
    #include <stdlib.h>
    int main(int count, char **words) {
        volatile unsigned long sum = 0;
        for (unsigned long turn = atol(words[1]) * 1000; turn > 0; turn--) sum += turn;
        return 0;
    }"""
WALK = r"""
    #include <stdlib.h>
    enum { size = 8 << 20 };
    int main(int count, char **words) {
        unsigned *next = malloc(size * sizeof *next), at = 0;
        for (unsigned i = 0; i < size; i++) next[i] = (i + 4801 * 16) % size;
        for (long turn = atol(words[1]) * 1000; turn > 0; turn--) at = next[at ^ (turn & 15)];
        return at == size;
    }"""


def launch(*argv: object, allocator: str = "") -> Launch:
    """A program of PATH."""
    words = [str(each) for each in argv]
    return Launch(argv=words, program=shutil.which(words[0]) or words[0], allocator=allocator)


def programs(folder: Path) -> dict[str, Callable[[float], Launch]]:
    """By name what makes a launch that does so many times as much as usual, which takes about 0.2 s."""
    for name, source in (("turns", TURNS), ("walk", WALK)):
        (folder / f"{name}.c").write_text(source)
        subprocess.run(["gcc", "-O1", "-o", folder / name, folder / f"{name}.c"], check=True)
    return {
        "in the caches": lambda times: launch(folder / "turns", round(700_000 * times)),
        "in memory": lambda times: launch(folder / "walk", round(1_100 * times)),
        "system calls": lambda times: launch(
            "dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={round(440_000 * times)}"
        ),
        "allocations": lambda times: launch(
            "perl", "-e", f'my %h; $h{{$_ % 20000}} = "x$_" for 1..{round(1_800_000 * times)}'
        ),
        "children": lambda times: launch(
            "sh", "-c", f"for i in $(seq {round(300 * times)}); do /bin/true; done"
        ),
    }


def at_once(launches: Sequence[Launch], restart: Sequence[bool] = ()) -> list[Outcome]:
    """A round, in random order on a random core."""
    order = random.sample(range(len(launches)), len(launches))
    core = random.choice(sorted(os.sched_getaffinity(0)))
    ended = together.run(
        [launches[at] for at in order], core, [restart[at] for at in order] if restart else []
    )
    return [outcome for _, outcome in sorted(zip(order, ended, strict=True), key=lambda each: each[0])]


def in_turn(launches: Sequence[Launch]) -> list[Outcome]:
    """One after another, in random order on a random core."""
    order = random.sample(range(len(launches)), len(launches))
    core = random.choice(sorted(os.sched_getaffinity(0)))
    ended = {at: spawn.run(spawn.pinned(launches[at], core)) for at in order}
    return [ended[at] for at in range(len(launches))]


def tail(one: Outcome, other: Outcome) -> float:
    """The unpaired part of two runs."""
    runs = [
        Run(cell=Cell(workload="bench"), outcome=each, order=0, started=0.0, together=True)
        for each in (one, other)
    ]
    return analyse.unpaired({0: runs[0]}, {0: runs[1]}) or 0.0


def logs(one: Outcome, other: Outcome) -> float:
    """The logarithm of the ratio of CPU times."""
    return math.log(other.cpu_ns / one.cpu_ns)


class Table:
    """Figures of rounds by what they are of, kept in a file if there is one."""

    def __init__(self, keep: Path | None) -> None:
        self._keep = keep
        self.of: dict[str, list[float]] = defaultdict(list)
        for line in keep.read_text().splitlines() if keep and keep.exists() else []:
            name, value = json.loads(line)
            self.of[name].append(value)

    def add(self, name: str, value: float) -> None:
        """A figure."""
        self.of[name].append(value)
        if self._keep:
            with self._keep.open("a") as file:
                file.write(json.dumps([name, value]) + "\n")

    def ratio(self, *names: str) -> str:
        """The mean of ratios of these names together, with its 95 % CI."""
        values = [value for name in names for value in self.of[name]]
        half = float(stdtrit(len(values) - 1, 0.975)) * statistics.stdev(values) / math.sqrt(len(values))
        middle = statistics.fmean(values)
        return f"{math.exp(middle):.4f} [{math.exp(middle - half):.4f}, {math.exp(middle + half):.4f}]"


def tails(kinds: dict[str, Callable[[float], Launch]], rounds: int, table: Table) -> None:
    """The part `tail`."""
    cases = [(kind, times) for kind in kinds for times in TIMES]
    for _ in range(rounds):
        for kind, times in cases:
            launches = [kinds[kind](1), kinds[kind](1), kinds[kind](times)]
            shorter = [times > 1, times > 1, times < 1]
            for how, ended in (
                ("alone", at_once(launches)),
                ("restarts", at_once(launches, shorter)),
                ("in turn", in_turn(launches)),
            ):
                table.add(f"tail/{kind}/{times}/{how}", tail(ended[0], ended[2]))
                table.add(f"ratio/{kind}/{times}/{how}", logs(ended[0], ended[2]))
    for kind, times in cases:
        said = [
            f"{how}: {statistics.median(table.of[f'tail/{kind}/{times}/{how}']):5.1%}, "
            f"{table.ratio(f'ratio/{kind}/{times}/{how}')}"
            for how in ("alone", "restarts")
        ]
        said.append(f"one after another: {table.ratio(f'ratio/{kind}/{times}/in turn')}")
        print(f"{kind:14} {times:4} times   {'   '.join(said)}", flush=True)


@contextlib.contextmanager
def limited(cores: float) -> Iterator[None]:
    """In a control group that gives us so much CPU time per time. Throws OSError where none can be made."""
    folder, version = next(each for each in cgroups.folders("cpu") if (each[0] / "cgroup.procs").exists())
    own = folder / f"reap-bench-{os.getpid()}"
    own.mkdir()
    try:
        period = 100_000
        if version == 2:
            (own / "cpu.max").write_text(f"{round(cores * period)} {period}")
        else:
            (own / "cpu.cfs_quota_us").write_text(str(round(cores * period)))
        (own / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        (folder / "cgroup.procs").write_text(str(os.getpid()))
        own.rmdir()


def quotas(kinds: dict[str, Callable[[float], Launch]], rounds: int, table: Table) -> None:
    """The part `quota`."""
    allocations = kinds["allocations"](1)
    mimalloc = msgspec.structs.replace(allocations, allocator=catalog.parse("mimalloc")[0].library)
    pairs = {kind: (make(1), make(1)) for kind, make in kinds.items()} | {
        "perl, mimalloc": (allocations, mimalloc)
    }
    stops = 0
    for _ in range(rounds):
        for name, pair in pairs.items():
            table.add(f"free/{name}", logs(*at_once(pair)))
            with limited(0.5):
                table.add(f"limited/{name}", logs(*at_once(pair)))
                found = quota.here()
                stops += found.stops if found else 0
    for name, own in [*((each, [each]) for each in pairs), ("all with itself", list(kinds))]:
        said = [f"{how} {table.ratio(*(f'{how}/{each}' for each in own))}" for how in ("free", "limited")]
        print(f"{name:15} {'   '.join(said)}")
    print(f"stopped in {stops} periods of 0.1 s")


PARTS = {"tail": tails, "quota": quotas}


def main() -> int:
    """Prints the rows of each part."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rounds", type=int, default=10)
    words.add_argument("--keep", type=Path)
    words.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []], default=[])
    asked = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as scratch:
        kinds = programs(Path(scratch))
        for part in asked.parts or PARTS:
            PARTS[part](kinds, asked.rounds, Table(asked.keep))
            print(f"({part}: load {os.getloadavg()[0]:.1f})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
