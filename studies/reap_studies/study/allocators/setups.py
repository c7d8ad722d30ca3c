"""The setups of the study of general-purpose allocators: which program, with how many threads, how often."""

from collections.abc import Sequence

from reap.api import Record

PROGRAM = "lists-and-trees"
PARALLEL = "perl-threads"
APPLICATIONS = (PARALLEL, "perl", "gcc", "sed")
WORKLOADS = (PROGRAM, *APPLICATIONS)
EVALUATIONS = (1, 10, 100, 1000)
SCALING_EVALUATIONS = 10
"""Those of Table 3; the paper does not say how many it had."""
MOST_THREADS = 32
"""The program divides its work into so many pieces."""
NO_FASTBINS = {"GLIBC_TUNABLES": "glibc.malloc.mxfast=0"}
"""glibc without its lists of small blocks that are not joined; its boundary tags stay."""


class Setup(Record):
    """One of them."""

    name: str
    workload: str
    threads: int = 0
    evaluations: int = 0
    environment: dict[str, str] = {}
    only: list[str] = []
    """The allocators that it is run over; empty: all."""

    @property
    def several(self) -> bool:
        """Whether it has several threads, which may wait for each other: its time is wall time."""
        return self.threads > 1 or self.name == PARALLEL

    @property
    def words(self) -> list[str]:
        """What is added to the program's own command."""
        threads = ["--threads", str(self.threads)] if self.threads else []
        return [*threads, "--evaluations", str(self.evaluations), "--times"] if self.evaluations else threads


def locality(evaluations: int) -> str:
    """The name of a setup of Table 2."""
    return f"evaluations-{evaluations}"


def scaling(threads: int) -> str:
    """The name of a setup of Table 3."""
    return f"threads-{threads}"


WITHOUT_FASTBINS = f"{scaling(1)}-without-fastbins"


def full_load(cores: int) -> int:
    """A thread for each core, as in Table 2."""
    return min(cores, MOST_THREADS // 2)


def thread_counts(cores: int) -> list[int]:
    """Of Table 3: 1, 2, 4 and so on, up to the cores and once beyond."""
    counts = [1]
    while counts[-1] <= full_load(cores):
        counts.append(counts[-1] * 2)
    return sorted({*counts, full_load(cores)})


def setups(workloads: Sequence[str], cores: int) -> list[Setup]:
    """All of these workloads, in the order of the tables."""
    found = []
    if PROGRAM in workloads:
        threads = full_load(cores)
        found += [
            Setup(name=locality(times), workload=PROGRAM, threads=threads, evaluations=times)
            for times in EVALUATIONS
        ]
        found += [
            Setup(name=scaling(count), workload=PROGRAM, threads=count, evaluations=SCALING_EVALUATIONS)
            for count in thread_counts(cores)
        ]
        found.append(
            Setup(
                name=WITHOUT_FASTBINS,
                workload=PROGRAM,
                threads=1,
                evaluations=SCALING_EVALUATIONS,
                environment=NO_FASTBINS,
                only=["glibc", "dlmalloc"],
            )
        )
    return [*found, *(Setup(name=name, workload=name) for name in APPLICATIONS if name in workloads)]
