"""The preloads that price allocation: correct mallocs, the same output, and what each takes away."""

import os
import subprocess
import sys

import paired
import pytest
from recorded import target

from reap.launch import native_files, price, spawn
from reap.launch.records import Launch, Outcome

NAMES = (price.FIRST, price.BUMP, *price.CAUSES)
PYTHON = "import json; print(len(json.dumps([str(i) * (i % 50) for i in range(30000)])))"


def library(name: str) -> str:
    return str(native_files.preload(f"price-{name}"))


def patterns(kind: str, scale: int = 1) -> list[str]:
    return [target("price/patterns", "-O2", "-pthread"), kind, str(scale)]


def ran(words: list[str], name: str = "") -> str:
    environment = {**os.environ, **({"LD_PRELOAD": library(name)} if name else {})}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_malloc(name: str, threads: int) -> None:
    """Against a model of every function, in threads that exchange blocks and in children of forks."""
    assert ran([target("price/stress", "-O1", "-pthread"), "7", str(threads), "6000"], name) == "sound\n"


@pytest.mark.parametrize("name", NAMES)
def test_programs_print_the_same(name: str) -> None:
    commands = [
        [sys.executable, "-c", PYTHON],
        ["perl", "-e", "my %h; $h{$_ % 997} .= $_ for 1..50000; print length join('', %h), qq{\\n}"],
        ["sh", "-c", "seq 40000 | sort -r | uniq | wc -l; ls / | head -1"],
        *(patterns(kind) for kind in ("batches", "scattered", "volume", "locked")),
    ]
    for words in commands:
        assert ran(words, name) == ran(words), words


@pytest.mark.parametrize(
    ("kind", "name", "most"),
    [
        ("batches", "recycle", 0.8),
        ("batches", "cache", 0.8),
        ("scattered", "placed", 0.8),
        ("scattered", "recycle", 0.7),
    ],
)
@pytest.mark.timed
def test_what_is_taken_away_makes_the_difference(kind: str, name: str, most: float) -> None:
    program = patterns(kind)
    found = paired.ratios(program, program, pairs=4, environments=[None, {"LD_PRELOAD": library(name)}])
    assert found.mean < most  # 0.1 to 0.45


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.timed
def test_a_program_that_computes_takes_as_long(name: str) -> None:
    program = patterns("computes", 3)
    found = paired.ratios(program, program, pairs=4, environments=[None, {"LD_PRELOAD": library(name)}])
    assert 0.8 < found.mean < 1.25


def outcome(name: str, kind: str, scale: int) -> Outcome:
    words = patterns(kind, scale)
    launch = Launch(argv=words, program=words[0], allocator=library(name), capture=True)
    return spawn.run(launch)


def test_memory_that_is_touched_ahead_is_not_charged() -> None:
    """The kernel needs longer for 100 MiB of fresh pages than the program takes."""
    done = outcome("bump", "volume", 1)
    assert done.ahead is not None
    assert done.ahead.bytes >= 100 << 20
    assert not done.ahead.ended
    assert done.ahead.cpu_ns > done.cpu_ns
    assert done.minor_faults < (100 << 20) // 4096


def test_where_memory_ends_it_is_said_and_the_program_goes_on() -> None:
    words = patterns("volume", 2)
    launch = Launch(
        argv=words,
        program=words[0],
        allocator=library("bump"),
        environment={"REAP_PRICE_BYTES": str(32 << 20)},
        capture=True,
    )
    done = spawn.run(launch)
    assert done.status == 0
    assert done.ahead is not None
    assert done.ahead.ended
