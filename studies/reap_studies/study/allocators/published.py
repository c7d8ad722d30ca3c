"""What the evaluation of six general-purpose allocators published, in the shape of what is measured here.

Facts of the paper: its Tables 1 to 4, on four cores. Each time is the median of three; here it stands twice,
so that the rules for our own figures can be put to it.
"""

from reap_studies.study.allocators.records import Series, Summary, Timed
from reap_studies.study.allocators.setups import (
    APPLICATIONS,
    EVALUATIONS,
    PARALLEL,
    PROGRAM,
    SCALING_EVALUATIONS,
    locality,
    scaling,
)
from reap_studies.study.records import Evaluated
from reap_studies.workloads import card

TITLE = "An experimental evaluation of six general-purpose memory allocators"
THREADS = 4
ALLOCATORS = ("dlmalloc", "glibc", "hoard", "jemalloc", "tcmalloc", "lockless")
"""The paper's order; its gnumalloc is glibc's."""
_MIB = 1 << 20
SECONDS = {
    PARALLEL: (28.3, 20.8, 20.7, 20.5, 20.6, 19.6),
    "gcc": (67.3, 68.1, 73.0, 71.1, 76.3, 66.3),
    "sed": (6.3, 6.6, 6.0, 6.3, 6.4, 6.0),
    locality(1): (4.51, 0.63, 0.70, 0.42, 0.39, 0.34),
    locality(10): (3.64, 1.53, 1.50, 1.22, 1.23, 1.08),
    locality(100): (17.4, 11.1, 9.7, 9.3, 9.8, 9.3),
    locality(1000): (163.4, 107.4, 91.7, 89.7, 94.1, 89.7),
    scaling(1): (21.0, 22.8, 31.4, 22.5, 24.3, 18.2),
    scaling(2): (21.5, 14.3, 16.6, 11.2, 11.0, 9.3),
    scaling(4): (41.7, 11.8, 8.8, 6.0, 6.7, 5.0),
}
"""Tables 1 to 3. Its perl had all four cores."""
RESIDENT = {PARALLEL: (387, 443, 520, 445, 404, 464), "gcc": (101, 101, 109, 105, 110, 107)}
"""MiB, Table 1."""
AVERAGE = (138.2, 76.8, 180.9, 47.1, 57.4, 61.5)
MAXIMUM = (151.2, 150.5, 203.3, 131.6, 131.6, 132.9)
"""MiB, Table 4."""


def evaluated() -> Evaluated:
    """All of it."""
    counts = (1, 2, 4)
    timed = [_timed(locality(times), PROGRAM, THREADS, times) for times in EVALUATIONS]
    timed += [_timed(scaling(count), PROGRAM, count, SCALING_EVALUATIONS) for count in counts]
    timed += [_timed(name, name) for name in APPLICATIONS if name in SECONDS]
    return Evaluated(
        threads=THREADS,
        timed=timed,
        summaries=[
            Summary(allocator=name, average=average * _MIB, maximum=most * _MIB)
            for name, average, most in zip(ALLOCATORS, AVERAGE, MAXIMUM, strict=True)
        ],
    )


def _timed(name: str, workload: str, threads: int = 0, evaluations: int = 0) -> Timed:
    resident = RESIDENT.get(name, ())
    return Timed(
        name=name,
        card=card.load(workload),
        scale=0,
        threads=threads,
        evaluations=evaluations,
        series=[
            Series(
                allocator=allocator,
                wall=_twice(seconds),
                resident=_twice(resident[number] * _MIB) if resident else [],
            )
            for number, (allocator, seconds) in enumerate(zip(ALLOCATORS, SECONDS[name], strict=True))
        ],
    )


def _twice(value: float) -> list[float]:
    return [value, value]
