"""Requests to `reap check`, and its results. Bytes and counts."""

from typing import Literal, get_args

from reap.base.records import Estimate, Record
from reap.recording.analyse import calls
from reap.recording.records import Coverage

Figure = Literal[
    "peak", "bytes", "allocations", "temporary", "live-at-exit", "allocs-per-mark", "bytes-per-mark"
]
FIGURES: tuple[Figure, ...] = get_args(Figure)
"""Those of `reap diff`, and the most that a marked request allocates."""
Unit = Literal["count", "bytes"]
UNITS = dict[Figure, Unit](
    [*calls.UNITS.items(), ("allocs-per-mark", "count"), ("bytes-per-mark", "bytes")],
)
Verdict = Literal["kept", "exceeded", "inconclusive", "not measured"]
"""`inconclusive`: estimated, and the limit is within the interval; or some runs are, and none keeps it.
`not measured`: what was recorded does not exceed the limit, but not all was recorded."""


class Limit(Record):
    """One limit, understood."""

    figure: Figure
    text: str
    """As it was requested."""
    most: float
    """The figure may be this large."""
    growth: bool
    """Whether it is relative to a baseline."""


class Place(Record):
    """A function that allocates, or a phase with marked requests."""

    function: str
    module: str
    file: str
    """Its source, as debug information has it; empty without."""
    line: int
    value: float
    """How much of the figure is allocated there."""


class Suppressed(Record):
    """Bytes that one suppression leaves out of live-at-exit."""

    pattern: str
    """A glob of function names; of what the C and C++ runtime libraries keep, which."""
    bytes: float
    runtime: bool


class Measured(Record):
    """The figures of one run."""

    program: str
    seconds: float
    figures: dict[str, Estimate]
    """Without those per mark where the program marks none."""
    places: dict[str, list[Place]]
    """By figure, the functions with most of it, largest first."""
    suppressed: list[Suppressed]
    notes: list[str]
    """What was not recorded."""
    coverage: Coverage
    missing: list[str] = []
    """Why the figures are of less than the whole program, a sentence each, without what is accepted."""
    to_accept: list[str] = []
    """Files of programs and libraries that have to be accepted so that nothing is missing."""


class Judged(Record):
    """One limit and its verdict."""

    limit: Limit
    values: list[Estimate]
    """Of each run."""
    verdict: Verdict
    places: list[Place] = []
    """Of a figure that exceeds its limit: the functions with most of it in the last run."""

    @property
    def lowest(self) -> Estimate:
        """The figure of the run that is nearest to keeping the limit: it decides."""
        return min(self.values, key=lambda each: each.value)


class Check(Record):
    """All limits of one program."""

    program: str
    command: list[str]
    depth: Literal["triage", "full"]
    runs: int
    """That were made."""
    runs_at_most: int
    seconds: float
    """Of all runs."""
    status: int
    """The program's exit status, as in a shell; if it is not 0, nothing is judged."""
    judged: list[Judged]
    suppressed: list[Suppressed] = []
    baseline: str = ""
    notes: list[str] = []
    coverage: Coverage | None = None
    """Of the last run; None where there is none."""
    missing: list[str] = []
    """What was not recorded, and is not accepted: a sentence each. Then no limit counts as kept."""
    to_accept: list[str] = []
    """Names for --accept-unrecorded, with which the same would count as measured; empty if that is not
    enough."""

    @property
    def unmeasured(self) -> list[Judged]:
        """Limits that cannot be judged, as not all was recorded."""
        return [each for each in self.judged if each.verdict == "not measured"]

    @property
    def exceeded(self) -> list[Judged]:
        """Limits that fail the check."""
        return [each for each in self.judged if each.verdict == "exceeded"]


class Baseline(Record):
    """The figures of earlier runs, in a file that `--update` writes."""

    reap_version: str
    command: list[str]
    depth: Literal["triage", "full"]
    runs: list[dict[str, float]]
    """By figure."""
    schema: int = 1
