"""What a stage is, and what is known of one that has ended."""

from dataclasses import dataclass, field
from enum import Enum


class Cores(Enum):
    """How many cores a stage can keep busy."""

    NONE = "none"
    """It sleeps for most of its time: it runs beside the others, one such stage at a time."""
    ONE = "one"
    SEVERAL = "several"
    """As many as are free: its commands read the number from $JOBS."""
    ALONE = "alone"
    """It times programs: it gets every core, and nothing else runs meanwhile."""


@dataclass(frozen=True)
class Stage:
    """Some commands, and when they may run."""

    name: str
    commands: str
    """For bash, which stops at the first command that fails."""
    after: tuple[str, ...] = ()
    """Stages to wait for, where they are part of the same run; one that failed does not hold this back."""
    cores: Cores = Cores.SEVERAL
    limit: int = 4500
    """Seconds after which the stage is taken to hang and is killed."""


@dataclass(frozen=True)
class Counts:
    """What a stage did, as its log and its test reports say."""

    compiled: int = 0
    """Translation units, those that the compiler cache answered included."""
    cached: int = 0
    """Translation units that the compiler cache answered."""
    tests: int = 0
    """Test cases that were run."""
    skipped: int = 0
    again: int = 0
    """Tries of tests that failed and were tried again: look at each in the log."""
    empty: tuple[str, ...] = ()
    """Test programs that ran no case at all: they checked nothing, whatever their exit status."""


@dataclass(frozen=True)
class Ended:
    """A stage that has ended."""

    name: str
    passed: bool
    reason: str
    """Why it failed: its exit status, or that it was killed. Empty if it passed."""
    wall: float
    """Seconds."""
    cpu: float
    """Seconds of all its processes that were waited for."""
    counts: Counts = field(default_factory=Counts)
