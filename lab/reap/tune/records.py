"""Results of a search for an allocator's settings."""

from typing import Literal

from reap.allocators.knobs import Objective
from reap.base.records import Record
from reap.experiment.records import Pairing, Ratio
from reap.tune.standing import Standing

Conclusion = Literal["a setting helps", "little to gain", "leave the settings alone", "inconclusive"]
"""What a search says of the settings that it tried. Whether allocation matters, and whether another allocator
gains more, `reap run` says: neither is tried here, so neither verdict denies the other."""

LEAST_GAIN = 0.02
"""A setting that seems to gain less than this is not promising: other things move a program as much."""


class Look(Record):
    """Measurements of the first run, which decide the order of the settings."""

    cpu: float
    """Seconds."""
    wall: float
    system_share: float
    """The share of CPU time in the kernel."""
    parallel: float
    """CPU time over wall time: more than 1 where threads, or children, run at once."""
    minor_faults: int
    peak_resident: int
    """Bytes."""


class Trial(Record):
    """One setting of the allocator, as far as it was tried."""

    name: str
    about: str
    environment: dict[str, str]
    """The variables that say it."""
    command: list[str]
    """What is put before the program's command; empty for most."""
    rounds: int
    """In how many rounds of the search it was, without those of the confirmation."""
    scores: dict[str, float]
    """By metric: its ratio to the baseline in these rounds. It chooses the setting, and is not a result."""
    same_output: bool | None = None
    """None where the program's output varies by itself, or nothing was run."""
    same_exit: bool = True
    problem: str = ""
    """Why it was abandoned, a sentence."""


class Finding(Record):
    """The result for one objective."""

    objective: Objective
    metric: str
    """What stands for the objective."""
    name: str = ""
    """The setting that was compared with the baseline in runs of their own; empty where none was."""
    environment: dict[str, str] = {}
    command: list[str] = []
    """What is put before the program's command; empty for most."""
    ratio: Ratio | None = None
    """In the confirmation, with an interval for so many settings confirmed at once."""
    beside: dict[str, Ratio] = {}
    """The other metrics of the same runs, each with its 95 % CI."""
    why_not: str = ""
    """Why nothing was confirmed."""
    standing: Standing = "untried"
    """What the confirmation says; `short` where a time is to be less of a program that ends too soon."""

    @property
    def too_short(self) -> bool:
        """Whether a ratio of times means nothing, since the program ends too soon."""
        return self.standing == "short"

    @property
    def wins(self) -> bool:
        """Whether the setting is better, certainly, and by enough to matter."""
        return self.standing == "gain"

    @property
    def gains(self) -> bool:
        """Whether it is better, certainly, by enough to matter or a little less."""
        return self.standing in ("gain", "little")

    @property
    def is_open(self) -> bool:
        """Whether more rounds may decide it."""
        return self.standing == "inconclusive"

    @property
    def better(self) -> bool:
        """Whether it is better, by however little."""
        return self.ratio is not None and self.ratio.verdict == "better"


class Tuned(Record):
    """An allocator's settings, searched on one program."""

    command: list[str]
    allocator: str
    origin: str
    """Where the allocator comes from, in words."""
    library: str
    """The file that is preloaded for it; empty for the C library's own malloc."""
    runs: int
    """How often the program was run in all."""
    most: int
    look: Look
    findings: list[Finding]
    """One for each objective."""
    level: float
    """Of the intervals of the findings: above 0.95 where several were confirmed at once."""
    rounds: int
    """Of the confirmation."""
    trials: list[Trial]
    noise: dict[str, Ratio]
    """By metric: the baseline to its second copy, in the rounds of the confirmation."""
    exit_code: int
    stdout_varies: bool
    last_words: str = ""
    """The last line of its standard error, where its status is not 0."""
    decided: bool = False
    """Whether the confirmation ended because all that was confirmed was decided."""
    restless: bool = False
    """Whether the baseline and its copy differed by more than a change is worth in a round of the search: a
    setting that gains may have looked no better than one that does not."""
    widening: float = 1.0
    """Width of the findings' intervals in intervals for a fixed number of rounds."""
    preloaded: str = ""
    """What LD_PRELOAD names for the program anyway."""
    pairing: Pairing = Pairing()
    load: list[str] = []
    """The command that loads the server; empty where the program is none."""
    loads: int = 0
    """Measured loads of each start of the server."""
    others: float | None = None
    """Share of the cores' time that other programs took during the rounds, 0 to 1; None where unknown."""
    notes: list[str] = []

    @property
    def conclusion(self) -> Conclusion:
        """Conclusion on all objectives; where one is open, only a gain is concluded."""
        if any(each.wins for each in self.findings):
            return "a setting helps"
        if self.restless or any(each.standing not in ("none", "costly", "little") for each in self.findings):
            return "inconclusive"
        little = any(each.standing == "little" for each in self.findings)
        return "little to gain" if little else "leave the settings alone"

    @property
    def differs(self) -> bool:
        """Whether some setting changed what the program does; numactl may fail for reasons of its own."""
        own = [each for each in self.trials if not each.command]
        return any(not each.same_exit or each.same_output is False for each in own)
