"""What a study gives: workloads with their experiments, and the published conclusions with their standing."""

from typing import Literal

from reap.analysis.records import Share, Totals
from reap.experiment.card import Card
from reap.experiment.matrix_records import Fragmented
from reap.launch.records import Machine
from reap.records import Estimate, Record

Mode = Literal["quick", "full"]
Standing = Literal["holds", "holds partly", "outdated", "does not hold", "cannot tell"]
Side = Literal["for", "against", "cannot tell"]


class Plan(Record):
    """What is to be measured: written once, so that a study goes on as it began."""

    study: str
    mode: Mode
    workloads: list[str]
    allocators: list[str]
    named: bool = False
    """Whether the workloads were chosen by name, and are not all that the study knows."""

    @property
    def command(self) -> list[str]:
        """The command line that makes such a study."""
        chosen = ["--workloads", ",".join(self.workloads)] if self.named else []
        return ["reap", "study", self.study, f"--{self.mode}", *chosen]


class Measured(Record):
    """One workload of a study."""

    card: Card
    version: str
    """Of its Debian package, or reap's own; empty where dpkg does not know it."""
    scale: int
    result: Fragmented | None = None
    excluded: str = ""
    """Why there is no result."""
    wide: list[str] = []
    """Which ratios of CPU time have a 95 % interval that is 5 % of the ratio wide or more, from end to end,
    in words; of each sound arm that to the baseline, that to itself at adv0 and that to custom are looked at.
    Those of a full study are so after as many rounds as it runs at most."""


class Statistics(Record):
    """How a workload allocates where malloc serves all of it: a line of Table 3 (OOPSLA 2002)."""

    card: Card
    scale: int
    version: str = ""
    """As of a Measured."""
    totals: Totals | None = None
    share: Share | None = None
    """Of its CPU time inside the allocator; None where nothing was sampled."""
    excluded: str = ""
    """Why nothing was recorded."""


class Finding(Record):
    """What one figure of one workload says of a conclusion."""

    workload: str
    figure: str
    """Which ratio, in words."""
    ratio: Estimate
    side: Side


class Conclusion(Record):
    """A published conclusion, and what our own figures say of it."""

    question: str
    """The research question, section or figure of the paper that it is of."""
    claim: str
    published: str
    """The paper's own numbers."""
    rule: str
    """When a figure is for it, and when against."""
    standing: Standing
    answer: str
    """In words, from our own numbers."""
    findings: list[Finding]


class Study(Record):
    """A study as far as it went. This is what its data file holds."""

    plan: Plan
    reap_version: str
    created: str
    """ISO 8601, UTC."""
    machine: Machine
    measured: list[Measured]
    conclusions: list[Conclusion]
    occupancy: list[Measured] = []
    """Of Figure 3 (ISMM 2026): other levels, one allocator, simulated caches."""
    statistics: list[Statistics] = []
    """Of Table 3 (OOPSLA 2002)."""
