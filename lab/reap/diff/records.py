"""Results of `reap diff`. Bytes and counts; a change is what the second recording has more."""

from typing import Literal

from reap.base.records import Estimate, Record

Verdict = Literal["grew", "shrank", "same", "inconclusive"]
"""`inconclusive`: estimated, and the 95 % CI of the change contains 0."""
BudgetVerdict = Literal["exceeded", "kept", "inconclusive"]


class Recorded(Record):
    """One of the two recordings."""

    file: str
    program: str
    """The executable that allocated most."""
    command: list[str]
    depth: Literal["triage", "full"]
    seconds: float
    allocations: int
    complete: bool
    """Whether it is undamaged and goes on to the end of the program."""


class Change(Record):
    """One measure in both recordings."""

    before: Estimate
    after: Estimate
    change: Estimate
    verdict: Verdict


class ChangedPlace(Record):
    """A function that allocates, or a whole stack."""

    function: str
    """The innermost function that is no wrapper of malloc and no part of a C++ library."""
    module: str
    stack: list[str]
    """Innermost first, as `function (module)`; empty for a function, which may have many."""
    changes: dict[str, Change]
    """By measure."""


class ChangedFlame(Record):
    """Whole stacks of both recordings: a tree of calls, as columns. A root's parent is -1."""

    functions: list[str]
    parents: list[int]
    at: list[int]
    """The function of each node, a place in `functions`."""
    before: dict[str, list[int]]
    """By measure, of each node: what was allocated with exactly this stack."""
    after: dict[str, list[int]]
    least: float
    """Functions with less than this share of every measure of both are part of their callers."""
    estimated: bool


class Budget(Record):
    """One `--fail-if`."""

    text: str
    measure: str
    limit: float
    """By how much the measure may grow, in its unit, in these recordings."""
    verdict: BudgetVerdict


class ChangedFigure(Record):
    """A figure of a program that both reports have."""

    program: str
    """Title of its answer."""
    figure: str
    """What is counted, or of a comparison the metric, the allocator and what it is a ratio to."""
    unit: Literal["count", "bytes", "share", "ratio"]
    before: Estimate
    after: Estimate
    ratio: Estimate | None
    """After / before, with its 95 % CI; None where one of them is 0."""
    verdict: Verdict


class ChangedResults(Record):
    """Differences between two reports: comparisons, or whatever else `--json` wrote."""

    before: str
    after: str
    """Their files."""
    figures: list[ChangedFigure]
    notes: list[str] = []
    """What a reader must know, one sentence or two each."""


class Difference(Record):
    """All that differs between two recordings."""

    before: Recorded
    after: Recorded
    by: str
    """The measure by which functions and stacks are in order."""
    totals: dict[str, Change]
    functions: list[ChangedPlace]
    stacks: list[ChangedPlace]
    flame: ChangedFlame | None
    budgets: list[Budget] = []
    limits: list[str] = []
    """What a reader must know, one sentence or two each."""
