"""How a published conclusion is judged by our own figures. Pure functions; no number here is a result.

A figure is a ratio with its 95 % CI. It is for or against a conclusion only where its whole interval
is; else it is inconclusive. A conclusion says of how many programs it is true: of nearly all, of most, or of
some. It stands by the share of decided figures that are for it, and only where at least half of all are
decided: one interval in twenty misses the truth, so that one figure among many neither makes nor refutes it.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

import msgspec

from reap.api import Arm, Estimate, Fragmented, statistics, units
from reap_studies.study.records import Beside, Conclusion, Finding, Measured, Side, Standing
from reap_studies.workloads.records import Card

MARGIN = 1.05
"""What is less is no substantial difference."""
QUORUM = 0.5
"""The least share of figures that must be decided."""
NULL_CONTROL = "sqlite-lookaside"
"""A workload whose allocator is known to make next to no difference: no conclusion rests on it."""
SHARE = "share of CPU time"
"""The figure of a finding that is no ratio, but a share: its mean is arithmetic, as it may be 0."""
MICROBENCHMARK = "freelist"
"""That of section 4.3 of ISMM 2026, which is no program and has conclusions of its own."""

Judged = Callable[[Estimate], Side]
Taken = Callable[[Fragmented, str, str], Estimate | None]


class Extent(Enum):
    """Of how many programs a conclusion is said."""

    NEARLY_ALL = "nearly all"
    MOST = "most"
    SOME = "some"

    @property
    def share(self) -> float:
        """The least share of decided figures that are for it."""
        return {Extent.NEARLY_ALL: 0.75, Extent.MOST: 0.5, Extent.SOME: 0.25}[self]

    @property
    def words(self) -> str:
        """As the page says it."""
        return (
            f"holds with {units.percent(self.share)} of the decided figures for it, partly with half of that"
        )


def side(is_for: bool, is_against: bool) -> Side:
    """Where a figure stands of which it is known whether it is for, and whether it is against."""
    return "for" if is_for else "against" if is_against else "inconclusive"


def at_most(bound: float) -> Judged:
    """For it where the whole interval is at most that, against it where it is above."""
    return lambda ratio: side(ratio.high <= bound, ratio.low > bound)


def at_least(bound: float) -> Judged:
    """For it where the whole interval is above that, against it where it is at most that."""
    return lambda ratio: side(ratio.low > bound, ratio.high <= bound)


def within(low: float, high: float) -> Judged:
    """For it where the whole interval is between both, against it where all of it is outside."""
    return lambda ratio: side(low <= ratio.low and ratio.high <= high, ratio.high < low or ratio.low > high)


def estimate(arm: Arm | None, field: str, metric: str = "cpu") -> Estimate | None:
    """One of an arm's ratios, `field` of the record; None where the arm says nothing."""
    if arm is None or not arm.sound:
        return None
    ratio = getattr(arm, field).get(metric)
    return ratio.ratio if ratio else None


def each_arm(
    measured: Iterable[Measured], allocators: Sequence[str] | None, level: str, take: Taken, judged: Judged
) -> list[Finding]:
    """What a ratio of each workload says over each allocator, all of them if none are named."""
    found = []
    for each, result in results(measured):
        for name in result.allocators if allocators is None else allocators:
            ratio = take(result, name, level)
            if ratio is not None:
                found.append(finding(each, f"over {name}", ratio, judged(ratio)))
    return found


def counts(described: Card) -> bool:
    """Whether conclusions may rest on the workload: its allocator is whole, and it is no control."""
    return not described.partial and described.name not in (NULL_CONTROL, MICROBENCHMARK)


def evidence(measured: Iterable[Measured], *kinds: str, whole: bool = True) -> list[Measured]:
    """Those of these kinds that were measured and count; not only these where `whole` is false."""
    return [
        each
        for each, _ in results(measured)
        if each.card.kind in kinds and (counts(each.card) if whole else each.card.name != MICROBENCHMARK)
    ]


def allocators(measured: Iterable[Measured]) -> set[str]:
    """Those over which something was measured."""
    return {name for _, result in results(measured) for name in result.allocators}


def beside(
    conclusions: Sequence[Conclusion], of_all: Sequence[Conclusion], left_out: Sequence[Measured]
) -> list[Conclusion]:
    """Each conclusion with how it stands by the figures of all workloads, where these differ from its own.

    `of_all` are the same conclusions, in the same order, with no workload left out.
    """
    names = [each.card.name for each in left_out]
    shown = []
    for own, other in zip(conclusions, of_all, strict=True):
        added = {each.workload for each in other.findings} - {each.workload for each in own.findings}
        which = [name for name in names if name in added] or names
        said = Beside(workloads=which, standing=other.standing, answer=other.answer)
        differs = own.findings != other.findings
        shown.append(msgspec.structs.replace(own, beside=said) if differs else own)
    return shown


def results(measured: Iterable[Measured]) -> list[tuple[Measured, Fragmented]]:
    """Those that have a result, with it."""
    return [(each, each.result) for each in measured if each.result is not None]


def finding(each: Measured, figure: str, ratio: Estimate, side: Side) -> Finding:
    """What one figure of a workload says."""
    return Finding(workload=each.card.name, figure=figure, ratio=ratio, side=side)


def mean(ratios: Sequence[Estimate], figure: str, judged: Judged) -> list[Finding]:
    """What the geometric mean over workloads says; its interval is that of other such workloads.

    Nothing below two of them.
    """
    if len(ratios) < statistics.LEAST_ROUNDS:
        return []
    found = statistics.interval([ratio.value for ratio in ratios])
    return [Finding(workload=f"mean of {len(ratios)}", figure=figure, ratio=found, side=judged(found))]


def quotient(arm: Arm, other: Arm, field: str = "normalised") -> Estimate | None:
    """One arm's ratio of CPU time to another's, round by round; None below two rounds."""
    own, base = (_pairs(each, field) for each in (arm, other))
    if own is None or base is None:
        return None
    pairs = [mine / theirs for mine, theirs in zip(own, base, strict=False)]
    if len(own) != len(base) or len(pairs) < statistics.LEAST_ROUNDS:
        return None
    return statistics.interval(pairs)


def _pairs(arm: Arm, field: str) -> list[float] | None:
    ratio = getattr(arm, field).get("cpu") if arm.sound else None
    return ratio.pairs if ratio else None


def fastest(result: Fragmented, variant: str, without: str = "") -> Arm | None:
    """The variant on a clean heap over the allocator that suits it best, one of them left out."""
    arms = [result.arm(variant, name, "adv0") for name in result.allocators if name != without]
    sound = [arm for arm in arms if arm is not None and arm.sound]
    return min(sound, key=lambda arm: arm.normalised["cpu"].ratio.value, default=None)


def best_ratio(result: Fragmented) -> tuple[str, str, Estimate] | None:
    """Naive over its best allocator to custom over its best, and which these are, the first naive's.

    Both may choose: malloc serves what the custom variant's allocator leaves, and its chunks.
    """
    custom, naive = (fastest(result, variant) for variant in ("custom", "naive"))
    if custom is None or naive is None:
        return None
    ratio = quotient(naive, custom)
    return (naive.allocator, custom.allocator, ratio) if ratio else None


def best_to_best(measured: Iterable[Measured], judged: Judged) -> list[Finding]:
    """What `best_ratio` of each workload says."""
    found = []
    for each, result in results(measured):
        if best := best_ratio(result):
            naive, custom, ratio = best
            found.append(finding(each, f"naive over {naive} to custom over {custom}", ratio, judged(ratio)))
    return found


def standing(findings: Sequence[Finding], refuted: Standing, extent: Extent) -> Standing:
    """How a conclusion of that extent stands by these."""
    decided = [each for each in findings if each.side != "inconclusive"]
    if not decided or len(decided) < QUORUM * len(findings):
        return "inconclusive"
    share = sum(each.side == "for" for each in decided) / len(decided)
    if share >= extent.share:
        return "holds"
    return "holds partly" if share >= extent.share / 2 else refuted


def span(findings: Sequence[Finding]) -> str:
    """From the least to the greatest, with their workloads."""
    values = sorted(findings, key=lambda each: each.ratio.value)
    amount = units.percent if findings[0].figure == SHARE else units.ratio
    ends = [f"{amount(each.ratio.value)} ({each.workload}, {each.figure})" for each in values]
    return f"from {ends[0]} to {ends[-1]}" if len(ends) > 1 else f"it is {ends[0]}"


def with_interval(figure: str, ratio: Estimate) -> str:
    """A figure, or the mean of such, and its interval: in percent if it is a share."""
    if figure != SHARE:
        return units.ratio_with_interval(ratio)
    return f"{units.percent(ratio.value)} [{units.percent_span(ratio.low, ratio.high)}]"


def middle(findings: Sequence[Finding]) -> Estimate | None:
    """Their mean; None of one or two, which say more by themselves, and where they are means already."""
    ratios = [each.ratio.value for each in findings]
    if len(ratios) <= statistics.LEAST_ROUNDS or findings[0].workload.startswith("mean"):
        return None
    return statistics.mean(ratios) if findings[0].figure == SHARE else statistics.interval(ratios)


def figures(findings: Sequence[Finding]) -> str:
    """Their mean with its interval and the extremes; each of them where they have none."""
    mean = middle(findings)
    if mean is None:
        said = "; ".join(
            f"{each.workload}, {each.figure} {with_interval(each.figure, each.ratio)}" for each in findings
        )
        return f"Measured: {said}."
    return f"{len(findings)} figures, mean {with_interval(findings[0].figure, mean)}, {span(findings)}."


def answer(findings: Sequence[Finding]) -> str:
    """What they say all together, in words."""
    if not findings:
        return "Nothing was measured that says anything of it."
    counts = {
        side: sum(each.side == side for each in findings) for side in ("for", "against", "inconclusive")
    }
    said = span(findings)
    if len(findings) == 1:
        side = findings[0].side
        which = side if side == "inconclusive" else f"{side} it"
        return f"One figure, {which}: {said.removeprefix('it is ')}."
    return (
        f"{counts['for']} for it, {counts['against']} against it, {counts['inconclusive']} inconclusive. "
        f"{said[:1].upper()}{said[1:]}."
    )
