"""What is known of a program, and how it is run."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from causes import TRUTH, Linked, known_program

Conclusion = Literal[
    "switch the allocator", "change a setting", "allocate less", "leave it alone", "inconclusive"
]
Arm = Literal["mimalloc", "jemalloc", "tcmalloc", "tcache_count", "keep", "twin"]
"""What was changed: the allocator; one setting of glibc, thread caches of 1,000 blocks or all freed memory
kept; or the program itself, which is then its twin."""

MEASURED = Path(__file__).with_name("measured.toml")
MATTERS = 0.05
"""The least gain that counts, as a part of the baseline."""


@dataclass(frozen=True)
class Truth:
    """What may be said of a program, and what would be false."""

    gain: bool | None
    """Whether another allocator or a setting gains at least MATTERS; None where that is too close, or depends
    on how threads happen to meet."""
    conclusions: tuple[Conclusion, ...]
    """Right conclusions. `inconclusive` is among them where a pass may fail to decide, and first of them
    where no trial from outside can tell."""
    causes: tuple[str, ...] = ()
    """That are true, the first of them most. Any of them may be named, or none."""
    never: tuple[str, ...] = ()
    """Causes that would be false. One that is neither here nor in `causes` is not judged."""
    metric: Literal["cpu", "wall"] = "cpu"
    """What shows the fault: CPU time, or elapsed time where threads wait."""


@dataclass(frozen=True)
class Known:
    """A program of targets/truth, its twin, and its truth."""

    source: str
    """Name of the file."""
    mode: str
    fault: str
    """What is wrong with it, for the documents."""
    truth: Truth
    report: str = ""
    """The public report whose pattern it has, as repository#number; empty for a program of our own."""
    linked: Linked = ""
    """The allocator that is linked into it."""
    stripped: bool = False
    """Whether its symbols are removed."""
    ci: bool = False
    """Whether one pass of CI asks about it; the bench asks about all."""
    held_out: bool = False
    """Whether no rule may be made with it: it only says how well rules do that others led to."""

    @property
    def name(self) -> str:
        """A word for it, which no other has."""
        words = [Path(self.source).stem, self.mode, *filter(None, [self.linked])]
        return "-".join(
            [*words, *(["rust"] if self.source.endswith(".rs") else []), *["stripped"] * self.stripped]
        )


def command(case: Known, scale: float, *, cured: bool = False) -> list[str]:
    """The words that run it or its twin, which end after up to a second at scale 1. Compiles it first."""
    if case.source.endswith(".js"):
        program = ["node", str(TRUTH / case.source)]
    else:
        program = [known_program(case.source, case.linked, stripped=case.stripped)]
    return [*program, case.mode, str(scale), *(["cured"] if cured else [])]


@functools.cache
def measured() -> dict[str, dict[Arm, tuple[float, float, float]]]:
    """By name of a case and arm: lowest, middle and highest change of the metric over the pairs, as a part
    of the baseline. -0.2 is a gain of a fifth."""
    return tomllib.loads(MEASURED.read_text())
