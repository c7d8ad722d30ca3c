"""How a published conclusion is judged by our own figures. Pure functions; no number here is a result.

A figure is a ratio with its 95 % interval. It is for or against a conclusion only where its whole interval
is; a conclusion holds where figures are for it and none is against, holds partly where there are both, and
where all that say anything are against it, it does not hold, or is outdated if it was about a lead that is
gone.
"""

from collections.abc import Callable, Iterable, Sequence

from reap import units
from reap.experiment import statistics
from reap.experiment.matrix_records import Arm, Fragmented
from reap.records import Estimate
from reap.study.records import Conclusion, Finding, Measured, Side, Standing

MARGIN = 1.05
"""What is less is no substantial difference: the bound of "unaffected" in ISMM 2026 (section 4.5)."""

Judged = Callable[[Estimate], Side]
Taken = Callable[[Fragmented, str, str], Estimate | None]


def side(is_for: bool, is_against: bool) -> Side:
    """Where a figure stands of which it is known whether it is for, and whether it is against."""
    return "for" if is_for else "against" if is_against else "cannot tell"


def at_most(bound: float) -> Judged:
    """For it where the whole interval is at most that, against it where it is above."""
    return lambda ratio: side(ratio.high <= bound, ratio.low > bound)


def at_least(bound: float) -> Judged:
    """For it where the whole interval is above that, against it where it is at most that."""
    return lambda ratio: side(ratio.low > bound, ratio.high <= bound)


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
    for each in measured:
        assert each.result is not None  # noqa: S101 - the caller has looked
        for name in each.result.allocators if allocators is None else allocators:
            ratio = take(each.result, name, level)
            if ratio is not None:
                found.append(finding(each, f"over {name}", ratio, judged(ratio)))
    return found


def finding(each: Measured, figure: str, ratio: Estimate, side: Side) -> Finding:
    """What one figure of a workload says."""
    return Finding(workload=each.card.name, figure=figure, ratio=ratio, side=side)


def quotient(arm: Arm, other: Arm) -> Estimate | None:
    """CPU time of one arm to another, both of which are paired with the baseline; None below two rounds."""
    own, base = (_normalised(each) for each in (arm, other))
    if own is None or base is None:
        return None
    pairs = [mine / theirs for mine, theirs in zip(own, base, strict=False)]
    if len(own) != len(base) or len(pairs) < statistics.LEAST_ROUNDS:
        return None
    return statistics.interval(pairs, seed=0)


def _normalised(arm: Arm) -> list[float] | None:
    ratio = arm.normalised.get("cpu") if arm.sound else None
    return ratio.pairs if ratio else None


def fastest(result: Fragmented, variant: str) -> Arm | None:
    """The variant on a clean heap over the allocator that suits it best."""
    arms = [result.arm(variant, name, "adv0") for name in result.allocators]
    sound = [arm for arm in arms if arm is not None and arm.sound]
    return min(sound, key=lambda arm: arm.normalised["cpu"].ratio.value, default=None)


def conclusion(
    question: str, claim: str, published: str, rule: str, findings: list[Finding], refuted: Standing
) -> Conclusion:
    """The conclusion as it stands; `refuted` where all figures that say anything are against it."""
    sides = [each.side for each in findings]
    standing: Standing = "cannot tell"
    if "for" in sides:
        standing = "holds partly" if "against" in sides else "holds"
    elif "against" in sides:
        standing = refuted
    return Conclusion(
        question=question,
        claim=claim,
        published=published,
        rule=rule,
        standing=standing,
        answer=_answer(findings),
        findings=findings,
    )


def _answer(findings: Sequence[Finding]) -> str:
    if not findings:
        return "Nothing was measured that says anything of it."
    values = sorted(findings, key=lambda each: each.ratio.value)
    counts = {side: sum(each.side == side for each in findings) for side in ("for", "against", "cannot tell")}
    ends = [f"{units.ratio(each.ratio.value)} ({each.workload}, {each.figure})" for each in values]
    span = f"From {ends[0]} to {ends[-1]}" if len(ends) > 1 else f"It is {ends[0]}"
    return (
        f"{counts['for']} for it, {counts['against']} against it, {counts['cannot tell']} undecided. {span}."
    )
