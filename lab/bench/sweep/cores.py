"""Whether rounds on the other cores of a machine change what a round says: alone, and with all cores busy.

    .venv/bin/python lab/bench/sweep/cores.py [--rounds 30] [--json]

A worker on each core, as `reap compare --on local:N` starts them. In turns the first has a round to itself,
and has one while every other runs a round of the same program. Printed are, for each program and allocator,
the ratio of CPU time alone and beside the others, the standard deviation of each, and the quotient of both in
paired rounds with its 95 % CI (`glibc` is the baseline against itself); and how many times as many rounds
there are in an hour.
"""

import argparse
import math
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from reap.base import units
from reap.base.records import decode
from reap.experiment.statistics import interval
from reap.sweep import analyse, plan, staging, worker
from reap.sweep.records import Block, Done, Plan, Program, SweepCell

ALLOCATORS = ["glibc", "jemalloc", "mimalloc", "reap"]
PROGRAMS = [
    Program(name="perl-hash", command=["perl", "-e", "my %h; $h{$_} = $_ x 3 for 1 .. 50000"]),
    Program(name="sort", command=["sort", "words.txt"], files=["words.txt"]),
    Program(
        name="g++", command=["g++", "-O1", "-fsyntax-only", "-x", "c++", "regex.txt"], files=["regex.txt"]
    ),
    Program(
        name="stream",
        command=["perl", "-e", "my @a = map { 'x' x 1000 } 1 .. 40000; for (1 .. 3) { $_ .= 'y' for @a }"],
    ),
]
"""One in the cache of its core, two usual ones, and one that needs the bandwidth of memory."""


def serve(core: int, line: Connection) -> None:
    """A worker on a core: runs the blocks that it is sent, until it is sent nothing."""
    os.sched_setaffinity(0, {core})
    worker.introduce(worker.facts((), f"core {core}"))
    line.send(b"")
    while (asked := line.recv()) is not None:
        line.send(worker.work(*asked))
    worker.close()


def taken(line: Connection) -> Done:
    """What came of a block."""
    run, answer = line.recv()
    if not run:
        raise SystemExit(f"a round could not be run: {answer.decode()}")
    return decode(answer, Done)


def measure(cell: SweepCell, lines: Sequence[Connection], rounds: int) -> dict[str, object]:
    """Rounds of a program, alone and beside others in turns."""
    encoded = msgspec.json.encode(cell)
    found = {"alone": analyse.Pairs(), "beside": analyse.Pairs()}
    seconds = {"alone": 0.0, "beside": 0.0}
    for number in range(2 * rounds):
        which = "alone" if number % 2 == 0 else "beside"
        block = msgspec.json.encode(Block(cell=cell.name, kind="here", round=number // 2))
        asked = lines[:1] if which == "alone" else lines
        begun = time.monotonic()
        for line in asked:
            line.send((encoded, block))
        done = [taken(line) for line in asked]
        if number > 1:  # the first has the warm-ups
            seconds[which] += time.monotonic() - begun
        found[which].add(done[0])
    return {
        "program": cell.name,
        "throughput": len(lines) * seconds["alone"] / seconds["beside"],
        "allocators": [row for name in cell.allocators if (row := compared(name, found)) is not None],
    }


def compared(name: str, found: dict[str, analyse.Pairs]) -> dict[str, object] | None:
    """An allocator's ratio in both, and their quotient."""
    logs = {}
    for which, pairs in found.items():
        own = [of for key, of in pairs.of.items() if key[2] == name and key[3] == "cpu"]
        if not own:
            return None
        logs[which] = [math.log(ratio) for ratio in next(iter(own[0].values()))]
    quotients = [math.exp(b - a) for a, b in zip(logs["alone"], logs["beside"], strict=True)]
    return {
        "allocator": name,
        "quotient": msgspec.to_builtins(interval(quotients)),
        **{which: math.exp(statistics.fmean(each)) for which, each in logs.items()},
        **{f"sd_{which}": statistics.stdev(each) for which, each in logs.items()},
    }


def main(words: Sequence[str]) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words)
    cores = sorted(os.sched_getaffinity(0))
    results = []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        text = "".join(f"{number * 7919 % 300007:x}\n" for number in range(300_000))
        (place / "words.txt").write_text(text)
        (place / "regex.txt").write_text("#include <regex>\n")
        given = Plan(programs=PROGRAMS, allocators=ALLOCATORS, rounds=2 * asked.rounds)
        swept = plan.sweep(given, place)
        for digest, path in staging.files(swept).items():
            staging.keep(digest, path.read_bytes())
        context = multiprocessing.get_context("spawn")
        lines = []
        for core in cores:
            here, there = context.Pipe()
            context.Process(target=serve, args=(core, there), daemon=True).start()
            lines.append(here)
        for line in lines:
            line.recv()
        for cell in swept.cells:
            results.append(measure(cell, lines, asked.rounds))
            show(results[-1])
        for line in lines:
            line.send(None)
    print(
        f"{asked.rounds} rounds each way on {units.many(len(cores), 'core')}; load {os.getloadavg()[0]:.1f}"
    )
    if asked.json:
        print(msgspec.json.encode(results).decode())


def show(result: dict[str, object]) -> None:
    """The lines of a program."""
    print(f"{result['program']}: {result['throughput']:.2f} times the rounds")
    rows = result["allocators"]
    assert isinstance(rows, list)  # noqa: S101 - of `measure`
    for row in rows:
        said = row["quotient"]
        print(
            f"  {row['allocator']:9} alone {row['alone']:.3f} (sd {row['sd_alone']:.3f}), beside others "
            f"{row['beside']:.3f} (sd {row['sd_beside']:.3f}), quotient {said['value']:.3f} "
            f"[{said['low']:.3f}, {said['high']:.3f}]"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
