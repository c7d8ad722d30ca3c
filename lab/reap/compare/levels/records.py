"""Results of an experiment on fragmented heaps: one record an arm, with its ratios to the others."""

from typing import Literal

from reap.base.records import Estimate, Record
from reap.experiment.records import HugePages, InRounds, Laid, Pairing, Ratio
from reap.launch.litter.level import Level
from reap.launch.litter.records import Order
from reap.launch.records import Misses
from reap.recording.analyse.size_profile import SizeProfile


class Split(Record):
    """Time inside and outside the allocator, from one sampled run of an arm. Its littering is left out."""

    samples: int
    share: Estimate
    """Of CPU time inside the allocator, 0 to 1, with its 95 % CI."""
    inside: Estimate
    """Seconds: the share of the arm's median CPU time."""
    outside: Estimate
    sees_kernel: bool
    """Whether time in the kernel was sampled, too."""
    method: Literal["perf", "timer"] = "perf"


class Arm(Record):
    """One variant under one allocator at one level.

    Each dictionary of ratios is by metric, in pairs of one round; `peak_resident` is peak memory beyond what
    the littering added. All are empty where there were too few sound rounds, and `problem` says why.
    """

    variant: str
    allocator: str
    level: str
    huge_pages: HugePages
    """Whether there were transparent huge pages; empty: as the machine is set."""
    rounds: int
    cpu: float
    """Median CPU time in seconds, without littering; 0 where no round was run."""
    normalised: dict[str, Ratio] = {}
    """To the baseline: the first variant under the baseline's allocator at adv0. (Figure 6, ISMM 2026)"""
    slowdown: dict[str, Ratio] = {}
    """To the same variant and allocator at adv0."""
    to_custom: dict[str, Ratio] = {}
    """Of the naive variant: to the custom one under the same allocator at the same level."""
    to_best: dict[str, Ratio] = {}
    """On a clean heap, of two variants: to the custom one under the allocator under which it is fastest
    there. (Figure 5, ISMM 2026)"""
    to_small: dict[str, Ratio] = {}
    """With huge pages: to the same without them."""
    to_allocator: dict[str, Ratio] = {}
    """To the same variant at the same level under the baseline's allocator."""
    laid: Laid | None = None
    """The litter of one of its runs."""
    split: Split | None = None
    misses: Misses | None = None
    """What one run did to simulated caches, or some runs to this processor's own."""
    verified: bool = True
    """Whether malloc really came from the allocator."""
    littered: bool = True
    """Whether its heap was littered, in every run of the rounds."""
    same_output: bool | None = None
    """Whether output agreed with the baseline's; None where the program's output varies by itself."""
    same_exit: bool = True
    problem: str = ""
    """One sentence where this arm says nothing."""

    @property
    def sound(self) -> bool:
        """Whether its figures may be used: it is compared with the baseline, and with itself at adv0."""
        return not self.problem and "cpu" in self.normalised and "cpu" in self.slowdown


class Control(Record):
    """Controls of a variant under an allocator, which should make no difference. Ratios of CPU time."""

    variant: str
    allocator: str
    preload: Ratio | None
    """adv0 to bare: the preload loaded, doing nothing."""
    emptied: Ratio | None
    """The level with most litter of which nothing stays, to adv0."""


class FailedControl(Record):
    """A control that failed, so that what it would check is unchecked."""

    variant: str
    allocator: str
    level: str
    """`none`, adv0, or the level of which everything is freed."""
    layout: int
    """The address-space layout; 0 is the default one."""
    littered: bool
    same_output: bool | None
    same_exit: bool
    """These three as in an Arm."""
    problem: str
    """One sentence."""


class LayoutBias(Record):
    """Effect of the address-space layout on a variant, under the baseline's allocator."""

    variant: str
    level: str
    """`none` or adv0."""
    ratios: list[Ratio]
    """CPU time, a ratio a layout, to the layout that comes by itself."""


class Fragmented(InRounds, frozen=True, kw_only=True):
    """A program on fragmented heaps: every variant, allocator and level, and the data behind it."""

    workload: str
    command: list[str]
    naive_command: list[str]
    """Empty where there is one variant only."""
    naive_environment: dict[str, str]
    variants: list[str]
    allocators: list[str]
    """The baseline's first."""
    levels: list[Level]
    """adv0 first."""
    huge_pages: list[HugePages]
    """Those that were tried, the baseline's first."""
    children: bool
    """Whether programs that the program executes were littered, too."""
    seed: int
    """Of the litter."""
    order: Order
    """In which order blocks were freed."""
    touch: bool
    """Whether every page of the litter was written to."""
    elsewhere: str
    """The program that allocates most, if it is executed by the one that was littered and found a clean heap;
    else empty. No figure is about fragmentation then."""
    profile: SizeProfile
    rounds: int
    arms: list[Arm]
    """Of every variant, allocator and level, and of no control."""
    controls: list[Control]
    layout_bias: list[LayoutBias]
    failed_controls: list[FailedControl]
    """Those that failed; they have no ratio in `controls` and `layout_bias`."""
    pairing: Pairing = Pairing()
    notes: list[str] = []

    @property
    def clean(self) -> bool:
        """Whether no heap was littered: it is about the program's own allocator alone."""
        return not any(level.multiplier for level in self.levels)

    def arm(
        self, variant: str, allocator: str, level: str, huge_pages: HugePages | None = None
    ) -> Arm | None:
        """The arm with these coordinates, if it was run; without the last, with what the baseline has."""
        key = (variant, allocator, level, self.huge_pages[0] if huge_pages is None else huge_pages)
        found = (
            each for each in self.arms if (each.variant, each.allocator, each.level, each.huge_pages) == key
        )
        return next(found, None)
