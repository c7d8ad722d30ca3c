"""The preloads that price allocation: correct mallocs, the same output, and what each takes away."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import paired
import pytest
from recorded import target

from reap import native
from reap.base.files import native_name
from reap.launch import native_files, price, spawn, together
from reap.launch.records import Ahead, Launch, Outcome

NAMES = (price.FIRST, price.BUMP, *price.CAUSES)
MB = 1 << 20
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
        *(patterns(kind) for kind in ("batches", "scattered", "locked")),
    ]
    for words in commands:
        assert ran(words, name) == ran(words), words


@pytest.mark.parametrize(
    ("kind", "name"),
    [("batches", "recycle"), ("batches", "cache"), ("scattered", "placed"), ("scattered", "recycle")],
)
@pytest.mark.timed
def test_what_is_taken_away_makes_the_difference(kind: str, name: str) -> None:
    program = patterns(kind)
    found = paired.ratios(program, program, pairs=4, environments=[None, {"LD_PRELOAD": library(name)}])
    assert found.mean < 0.9  # 0.1 to 0.45, and 0.85 with the cache shared with busy processes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.timed
def test_a_program_that_computes_takes_as_long(name: str) -> None:
    program = patterns("computes", 3)
    found = paired.ratios(program, program, pairs=4, environments=[None, {"LD_PRELOAD": library(name)}])
    assert 0.8 < found.mean < 1.25


def launch(name: str, *words: str, **variables: str) -> Launch:
    allocator = library(name) if name else ""
    return Launch(argv=[*words], program=words[0], allocator=allocator, environment=variables)


def sound(name: str, *words: str, **variables: str) -> Outcome:
    outcome = spawn.run(launch(name, *words, **variables))
    assert outcome.status == 0, outcome
    return outcome


@pytest.mark.parametrize("most", ["0", "3000000"])
def test_a_program_goes_on_where_memory_ends_and_that_is_reported(most: str) -> None:
    outcome = sound("bump", target("price/stress"), "3", "2", "6000", REAP_PRICE_BYTES=most)
    assert outcome.ahead is not None
    assert outcome.ahead.ended
    assert outcome.ahead.bytes <= int(most) + (1 << 20)  # two threads may take a chunk at the same time


def test_touching_memory_ahead_is_not_charged_to_the_program() -> None:
    outcome = sound("bump", target("price/touches"), "256")
    ahead = outcome.ahead
    assert ahead is not None
    assert not ahead.ended
    assert ahead.bytes >= 250 * MB
    assert ahead.faults > 0
    assert outcome.cpu_ns < ahead.cpu_ns / 2
    assert outcome.minor_faults < 1000


def test_runs_at_the_same_time_are_net_too() -> None:
    program = target("price/touches")
    gross, net = together.run([launch("", program, "64"), launch("bump", program, "64")], 0)
    assert gross.ahead is None
    assert net.ahead is not None
    assert net.cpu_ns < net.ahead.cpu_ns


def test_a_report_that_was_overwritten_subtracts_nothing(tmp_path: Path) -> None:
    report = tmp_path / "price"
    native.create_price(native_name(report))
    gross = Outcome(exit_code=0, wall_ns=10, user_ns=3, system_ns=4, minor_faults=5)
    assert price.net(gross, report) == msgspec.structs.replace(gross, ahead=Ahead())
    report.write_bytes(b"x" * report.stat().st_size)
    assert price.net(gross, report) == msgspec.structs.replace(gross, ahead=Ahead(overwritten=True))
    report.unlink()
    assert price.net(gross, report) == msgspec.structs.replace(gross, ahead=Ahead(overwritten=True))
