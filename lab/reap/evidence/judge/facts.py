"""Everything that the rules ask of what is known of a program, under names that read in a rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from reap.answer.commands import with_variables
from reap.compare import analyse, judge
from reap.compare import thresholds as comparing
from reap.compare.judge import Standing
from reap.evidence.analyse.reach import unreachable
from reap.evidence.analyse.suspicions.records import NO_TIME, OF_MEMORY, Remedy, Suspicion
from reap.evidence.judge import commands
from reap.evidence.judge import thresholds as at
from reap.evidence.judge.arms import Arms, best_beside, best_time
from reap.evidence.judge.explained import Trials
from reap.evidence.judge.findings import judged, trials_of
from reap.evidence.judge.records import Bound, Finding
from reap.evidence.records import Wall
from reap.experiment.records import Comparison, Ratio, Side
from reap.launch import price
from reap.recording.records import Pattern, Profile, Share


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about one program. Any part may be missing."""

    command: list[str]
    profile: Profile | None = None
    comparison: Comparison | None = None
    """Of the fastest allocators and the price."""
    causes: Comparison | None = None
    """Of what tells causes apart."""
    wall: Wall | None = None
    suspicions: Sequence[Suspicion] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why an arm was not tried, a clause, by its name."""
    named: Sequence[str] = ()
    """What names it on another command line; empty: `--` and its command."""
    trials_take: float = 0.0
    """Seconds that trials would take, where none was run for that; else 0."""

    @property
    def again(self) -> list[str]:
        """`named`; where that is empty, `--` and the command."""
        return list(self.named) or ["--", *self.command]

    @property
    def is_server(self) -> bool:
        """Whether it is a server under load, which does not end by itself."""
        return self.again[0] != "--"

    @cached_property
    def trials(self) -> Trials:
        """Every arm that ran, by its name."""
        return trials_of([self.comparison, self.causes])

    @cached_property
    def findings(self) -> list[Finding]:
        """Causes with what their trials say, proven ones first."""
        counted = self.wall.counted if self.wall else None
        return judged(
            self.suspicions,
            self.trials,
            self.missing,
            above_cache=(counted.above_cache if counted else None) or 0.0,
            remedies=commands.remedies(self.again),
            aside=bool(self.stood_aside),
        )

    @cached_property
    def standings(self) -> list[tuple[Side, Standing]]:
        """Every allocator that was compared, with what the comparison says of it."""
        comparison = self.comparison
        if comparison is None:
            return []
        return [
            (side, judge.standing(side, comparison))
            for side in comparison.sides
            if not price.is_price(side.allocator)
        ]

    @cached_property
    def priced(self) -> list[tuple[Side, Comparison, Standing]]:
        """Every preload that prices allocation and whose figures can be trusted."""
        every = [
            (side, held, judge.standing(side, held))
            for name, (side, held) in self.trials.items()
            if price.is_price(name)
        ]
        return [each for each in every if each[2] is not Standing.UNTRUSTED]

    def sides(self, *wanted: Standing) -> list[Side]:
        """The allocators with one of these standings."""
        return [side for side, standing in self.standings if standing in wanted]

    @cached_property
    def compared(self) -> list[Side]:
        """The other allocators whose figures can be trusted."""
        found = self.sides(Standing.GAIN, Standing.NONE, Standing.INCONCLUSIVE)
        return [side for side in found if not side.itself]

    @cached_property
    def _allocators(self) -> Arms:
        return Arms(self.compared, self.comparison)

    @cached_property
    def _settings(self) -> Arms:
        sides = self.causes.sides if self.causes else []
        return Arms([side for side in sides if self.is_setting(side)], self.causes)

    @cached_property
    def best(self) -> Side | None:
        """The allocator to switch to for time, or to name beside a setting."""
        return best_beside(self._allocators, self._settings)

    @cached_property
    def best_setting(self) -> Side | None:
        """The setting to change for time, or to name beside an allocator."""
        return best_beside(self._settings, self._allocators)

    def won(self, side: Side) -> Ratio:
        """The time in which an arm gains; its CPU time where that gain is little or none."""
        return best_time(side, self.trials[side.allocator][1])

    @cached_property
    def better(self) -> Literal["setting", "allocator", "either", ""]:
        """Kind of change that gains clearly more, by about what is worth a change; empty without gains.

        The intervals do not overlap, and the estimates are apart by at least what is worth it. Gains in
        different times cannot be held against each other.
        """
        if self.best is None or self.best_setting is None or self.comparison is None:
            return "allocator" if self.best else "setting" if self.best_setting else ""
        times = self.won(self.best), self.won(self.best_setting)
        won, rival = (each.ratio for each in times)
        if times[0].metric != times[1].metric or abs(rival.value - won.value) < self.comparison.worth:
            return "either"
        if won.high < rival.low:
            return "allocator"
        return "setting" if rival.high < won.low else "either"

    @cached_property
    def little(self) -> tuple[Side, Ratio] | None:
        """The arm with the most of gains that are proven and hardly worth a change; None without one."""
        whole = [
            (side, analyse.cpu(side))
            for side, held, _ in self.priced
            if price.is_whole(side.allocator) and judge.hardly_pays(side, held)
        ]
        found = [*self._allocators.little(), *self._settings.little(), *whole]
        # A malloc without costs comes last: nobody can have it.
        return min(
            found, key=lambda each: (price.is_price(each[0].allocator), each[1].ratio.value), default=None
        )

    @cached_property
    def smaller(self) -> tuple[Finding, Side] | None:
        """A cause of memory that a trial proved, with the arm that takes it away."""
        for found in self.findings:
            if found.cause in OF_MEMORY and found.status == "proven" and found.trial in self.trials:
                return found, self.trials[found.trial][0]
        return None

    @cached_property
    def bound(self) -> Bound | None:
        """The most that a change to allocation gave, of every arm; None where the whole was not priced."""
        if not any(price.is_whole(side.allocator) for side, _, _ in self.priced):
            return None
        ratios = [
            (best_time(side, held), side)
            for side, held in self.trials.values()
            if analyse.trusted(side) and not side.itself
        ]
        ratio, side = min(ratios, key=lambda each: each[0].ratio.value)
        return Bound(arm=side.allocator, ratio=ratio)

    @cached_property
    def price(self) -> Bound | None:
        """The largest gain of a malloc that costs next to nothing, else of one cost less.

        None where none gains.
        """
        won = [
            (ratio, side)
            for side, comparison, standing in self.priced
            if standing is Standing.GAIN
            and not judge.gains_little(side, comparison)
            and (ratio := judge.gain(side, comparison)) is not None
        ]
        if not won:
            return None
        ratio, side = min(won, key=lambda each: (not price.is_whole(each[1].allocator), each[0].ratio.value))
        return Bound(arm=side.allocator, ratio=ratio)

    @property
    def reached(self) -> bool:
        """Whether a change that hardly pays gains what a malloc that costs next to nothing gains."""
        if self.price is None or self.little is None or price.is_price(self.little[0].allocator):
            return False
        return self.little[1].ratio.value <= self.price.ratio.ratio.high

    @cached_property
    def untried(self) -> list[Finding]:
        """Causes of allocation's time that were neither proven nor refuted, and that would be worth much."""
        return [
            found
            for found in self.findings
            if found.status in {"not tried", "inconclusive"}
            and found.cause in at.DENIABLE
            and found.weight >= at.LARGE_SHARE
        ]

    @property
    def left_out(self) -> list[str]:
        """The arms for which the budget had no time."""
        return [name for name, why in self.missing.items() if why == NO_TIME]

    @property
    def pattern(self) -> Pattern | None:
        """The first way of allocating that a change at one line removes; None where none is known."""
        seen = self.profile.patterns if self.profile else []
        return next((each for each in seen if each.kind != "unoptimized"), None)

    @property
    def unfinished(self) -> bool:
        """Whether its time limit ended it, so that no trial has whole runs."""
        return self.wall is not None and self.wall.unfinished

    @property
    def hidden(self) -> str:
        """Reason why no preload reaches its allocations, so that no trial says what they cost; or empty."""
        return unreachable(self.wall) if self.wall else ""

    @property
    def stood_aside(self) -> str:
        """The linked allocator that others took the place of in the trials; empty where there is none."""
        found = self.wall.linked if self.wall else []
        return next((each.allocator for each in found if each.stands_aside), "")

    def remedy(self, side: Side) -> Remedy | None:
        """The remedy that an arm tries; None for any other arm."""
        remedies = (each for suspicion in self.suspicions for each in suspicion.remedies)
        return next((each for each in remedies if each.name == side.allocator), None)

    def is_setting(self, side: Side) -> bool:
        """Whether an arm is the program under the allocator that it has, with other variables."""
        remedy = self.remedy(side)
        return remedy is not None and not remedy.allocator

    def environment(self, side: Side) -> dict[str, str]:
        """The variables of an arm that is a remedy, as it ran with them; empty for any other."""
        remedy = self.remedy(side)
        return {**remedy.environment, **_those(remedy, side)} if remedy else {}

    def variables(self, side: Side) -> str:
        """Variables of an arm, as a shell takes them; else what a person writes, or the arm's name."""
        remedy = self.remedy(side)
        return with_variables(self.environment(side), []) or (remedy and remedy.how) or side.allocator

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
        faster = [
            side
            for side in self.sides(Standing.GAIN)
            if self.comparison and not judge.pays(side, self.comparison)
        ]
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
    def open_arms(self) -> list[Side]:
        """Inconclusive allocators, and inconclusive preloads of their comparison that price allocation."""
        priced = [
            side
            for side, held, standing in self.priced
            if standing is Standing.INCONCLUSIVE and held is self.comparison
        ]
        return [*self.inconclusive, *priced]

    @property
    def decided(self) -> bool:
        """Whether allocators were compared, and it is known of each whether it gains."""
        return bool(self.compared) and not self.inconclusive

    @property
    def settled(self) -> bool:
        """Whether allocators were compared and none of them gains anything that matters."""
        return self.decided and not self.sides(Standing.GAIN)

    @property
    def share(self) -> Share | None:
        """The sampled share of time, of the run that nothing entered if there is one; else None."""
        share = (self.wall and self.wall.share) or (self.profile and self.profile.share) or None
        return share if share and share.samples > 0 else None

    @property
    def large_share(self) -> bool:
        """Whether much time is spent in the allocator, by the near end of the interval."""
        return self.share is not None and self.share.share.low >= at.LARGE_SHARE

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time of the program under the baseline, whatever the figures of the others are worth."""
        sides = self.comparison.sides if self.comparison else []
        cpu = next((side.ratios["cpu"] for side in sides if "cpu" in side.ratios), None)
        return cpu.baseline if cpu else None

    @property
    def too_short(self) -> bool:
        """Whether loading a library outweighs what the program does. A server's start is not measured."""
        return not self.is_server and self.cpu_seconds is not None and self.cpu_seconds < comparing.TOO_SHORT

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


def _those(remedy: Remedy, side: Side) -> dict[str, str]:
    """The variables of a remedy with which its arm ran: the program's own words are in them, too."""
    return {name: value for name, value in side.environment.items() if name in remedy.environment}
