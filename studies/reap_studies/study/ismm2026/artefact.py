"""Contents of the authors' artefact: times on two machines and counters, and our times beside theirs.

Their machine, compilers and inputs are others, their times are elapsed time and ours CPU time, and they ran
an arm's runs one after another: so ratios are compared, and no rule judges by theirs.
"""

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import msgspec

from reap.api import Estimate, Record, statistics
from reap_studies.study.ismm2026.published import PROGRAMS
from reap_studies.study.judging.ratios import estimate
from reap_studies.study.records import Measured

CLEAN, ADVERSE = "adv0", "adv3"
NAIVE_TO_CUSTOM = "naive to custom, clean heap"
NAIVE_SLOWED = "naive at adv3 to itself at adv0"
CUSTOM_SLOWED = "custom at adv3 to itself at adv0"
FIGURES = (NAIVE_TO_CUSTOM, NAIVE_SLOWED, CUSTOM_SLOWED)

Times = dict[str, dict[str, list[float]]]
"""By allocator and level: each run's elapsed milliseconds."""


class Timed(Record):
    """One program of the paper."""

    program: str
    file: str
    custom: Times
    naive: Times


class Counted(Record):
    """Counters of one program, on heaps fragmented by multiplier 10."""

    program: str
    file: str
    occupancy: dict[str, dict[str, dict[str, list[float]]]]
    """By allocator, occupancy and counter: each run's."""


class Source(Record):
    """Origin of figures."""

    repository: str
    commit: str
    licence: str
    machine: str
    allocators: str


class Artefact(Source):
    """The times on one machine."""

    program: list[Timed]


class Counters(Source):
    """The counters of Figure 3."""

    program: list[Counted]


class Compared(Record):
    """One figure of a program over one allocator."""

    program: str
    allocator: str
    figure: str
    runs: int
    """Of each arm, theirs."""
    artefact: Estimate
    workload: str
    """The workload that stands for the program here."""
    here: Estimate | None
    """None where it was not measured."""


@cache
def published() -> Artefact:
    """Times on the paper's machine."""
    return msgspec.convert(_read("artefact.toml"), Artefact)


@cache
def second_machine() -> Artefact:
    """Times on its second machine."""
    return msgspec.convert(_read("second_machine.toml"), Artefact)


@cache
def counters() -> Counters:
    """Counters on the paper's machine."""
    return msgspec.convert(_read("counters.toml"), Counters)


def _read(name: str) -> dict[str, object]:
    """A file that studies/bench/artefact.py wrote."""
    return tomllib.loads(files("reap_studies.study").joinpath("ismm2026", name).read_text())


def compared(measured: Sequence[Measured]) -> list[Compared]:
    """Each of FIGURES of each program and allocator, beside what was measured of its workload."""
    workloads = {each.program: each.here for each in PROGRAMS}
    by_name = {each.card.name: each for each in measured}
    return [
        Compared(
            program=each.program,
            allocator=allocator,
            figure=figure,
            runs=runs,
            artefact=ratio,
            workload=workloads[each.program],
            here=_here(by_name.get(workloads[each.program]), allocator, figure),
        )
        for each in published().program
        for allocator in each.custom
        for figure, ratio, runs in _theirs(each.custom[allocator], each.naive[allocator])
    ]


def _theirs(
    custom: dict[str, list[float]], naive: dict[str, list[float]]
) -> Iterator[tuple[str, Estimate, int]]:
    for figure, base, values in (
        (NAIVE_TO_CUSTOM, custom[CLEAN], naive[CLEAN]),
        (NAIVE_SLOWED, naive[CLEAN], naive[ADVERSE]),
        (CUSTOM_SLOWED, custom[CLEAN], custom[ADVERSE]),
    ):
        yield figure, statistics.unpaired(base, values), len(values)


def _here(measured: Measured | None, allocator: str, figure: str) -> Estimate | None:
    if measured is None or measured.result is None:
        return None
    variant = "custom" if figure == CUSTOM_SLOWED else "naive"
    level, field = (CLEAN, "to_custom") if figure == NAIVE_TO_CUSTOM else (ADVERSE, "slowdown")
    return estimate(measured.result.arm(variant, allocator, level), field)
