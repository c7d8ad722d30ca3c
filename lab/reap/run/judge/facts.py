"""Everything that the rules ask of a profile and a comparison, under names that read in a rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from reap.compare import analyse, judge
from reap.compare.judge import Standing
from reap.evidence.judge.thresholds import TOO_SHORT
from reap.experiment.records import Comparison, Side
from reap.recording.records import Profile, Share
from reap.run.judge import thresholds as at


@dataclass(frozen=True)
class Facts:
    """What is known of one program. Either part may be missing."""

    profile: Profile | None
    comparison: Comparison | None
    command: list[str]
    named: Sequence[str] = ()
    """What names it on another command line; empty: `--` and its command."""

    @property
    def again(self) -> list[str]:
        """The same, never empty."""
        return list(self.named) or ["--", *self.command]

    @property
    def is_server(self) -> bool:
        """Whether it is a server under load, which does not end by itself."""
        return self.again[0] != "--"

    @cached_property
    def standings(self) -> list[tuple[Side, Standing]]:
        """Every allocator that was compared, with what the comparison says of it."""
        comparison = self.comparison
        if comparison is None:
            return []
        return [(side, judge.standing(side, comparison)) for side in comparison.sides]

    def sides(self, *wanted: Standing) -> list[Side]:
        """The allocators with one of these standings."""
        return [side for side, standing in self.standings if standing in wanted]

    @cached_property
    def compared(self) -> list[Side]:
        """The other allocators whose figures can be trusted."""
        found = self.sides(Standing.GAIN, Standing.NONE, Standing.SHORT, Standing.INCONCLUSIVE)
        return [side for side in found if not side.itself]

    @cached_property
    def best(self) -> Side | None:
        """The allocator to switch to for time."""
        return judge.pick(self.compared, self.comparison) if self.comparison else None

    @cached_property
    def best_for_memory(self) -> Side | None:
        """The allocator to switch to for memory alone."""
        comparison = self.comparison
        if comparison is None:
            return None
        saving = [side for side in self.compared if judge.saves_memory(side, comparison)]
        return min(saving, key=lambda side: side.ratios["peak_resident"].ratio.value, default=None)

    @cached_property
    def unpaid(self) -> Side | None:
        """The fastest allocator whose gain does not pay for its memory."""
        faster = self.sides(Standing.GAIN)
        return min(faster, key=lambda side: analyse.cpu(side).ratio.value, default=None)

    @property
    def needed_budget(self) -> float:
        """Seconds that two rounds take, where the budget had no time for them; else 0."""
        return self.comparison.needed_budget if self.comparison else 0.0

    @property
    def inconclusive(self) -> list[Side]:
        """The allocators of which more rounds might say more."""
        return self.sides(Standing.INCONCLUSIVE)

    @property
    def settled(self) -> bool:
        """Whether allocators were compared and none of them gains anything that matters."""
        return bool(self.compared) and not self.inconclusive and not self.sides(Standing.GAIN)

    @property
    def share(self) -> Share | None:
        """The sampled share of time, where there are samples."""
        share = self.profile.share if self.profile else None
        return share if share and share.samples > 0 else None

    @property
    def small_share(self) -> bool:
        """Whether little time is spent in the allocator, by the far end of the interval.

        User time alone is no proof of that: page faults on the allocator's behalf may be the larger part.
        """
        return self.share is not None and self.share.sees_kernel and self.share.share.high < at.SMALL_SHARE

    @property
    def large_share(self) -> bool:
        """Whether much time is spent in the allocator, by the near end of the interval."""
        return self.share is not None and self.share.share.low >= at.LARGE_SHARE

    @property
    def unclear_share(self) -> bool:
        """Whether the interval of the share reaches from small to large."""
        share = self.share
        return share is not None and share.share.low < at.SMALL_SHARE and share.share.high >= at.LARGE_SHARE

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time of the program under the baseline."""
        cpu = next((side.ratios["cpu"] for side in self.compared), None)
        return cpu.baseline if cpu else None

    @property
    def too_short(self) -> bool:
        """Whether loading a library outweighs what the program does. A server's start is not measured."""
        return not self.is_server and self.cpu_seconds is not None and self.cpu_seconds < TOO_SHORT

    @property
    def silent(self) -> bool:
        """Whether a whole recording saw not one allocation."""
        profile = self.profile
        return (
            profile is not None
            and profile.totals.total_objects == 0
            and bool(profile.processes)
            and all(process.recorded for process in profile.processes)
        )

    @property
    def on_glibc(self) -> bool:
        """Whether glibc's malloc serves the program, so that its tunables apply."""
        if self.profile and self.profile.processes:
            return any("libc.so" in process.allocator for process in self.profile.processes)
        return self.comparison is not None and self.comparison.baseline == "glibc"
