"""From rounds to effects: rounds lie within machines, machines within kinds. Pure functions.

- Of a machine: its own rounds by their ranks, as in `reap compare`.
- Of a kind: the same of all rounds on its machines. It is about these machines; what differs between
  them widens it.
- Overall, for machines like these: random effects. The variance within machines is pooled, that between them
  is Paule and Mandel's (1982), the interval is Hartung and Knapp's (2001), which with equally many rounds is
  Student's t over the machines' means. Own code of forty lines: statsmodels' `combine_effects` does the same
  and brings pandas (100 MB); a test holds ours to its figures.
"""

import math
import statistics
from array import array
from collections.abc import Iterable, Mapping, Sequence

from reap.base import distributions
from reap.base.records import Estimate
from reap.experiment import metrics
from reap.experiment import statistics as rounds
from reap.experiment.records import Run, Verdict
from reap.sweep.records import Done, Effect, Facts, Heterogeneity, KindEffect, MachineEffect, SweepCell

METRICS = ("cpu", "wall", "peak_resident", "minor_faults")
"""What is compared; wall time where the runs of a round do not share a core."""

Key = tuple[str, str, str, str, bool]
"""Cell, level, allocator, metric, and whether it is the baseline's second run."""
Place = tuple[str, str]
"""Kind and host."""


class Pairs:
    """The ratios of all rounds so far, by what they are of: eight bytes each."""

    def __init__(self) -> None:
        self.of: dict[Key, dict[Place, array[float]]] = {}
        self.dropped: dict[str, None] = {}
        """What was not compared, a sentence each, in order."""
        self.blocks = 0
        self.facts: dict[Place, Facts] = {}
        """Of one worker of each machine."""

    def add(self, done: Done) -> None:
        """Takes the ratios of a block."""
        self.blocks += 1
        cell, place = done.block.cell, (done.block.kind, done.facts.host)
        self.facts.setdefault(place, done.facts)
        for label, why in done.dropped.items():
            self.dropped[f"{label} in cell {cell} on {done.facts.host}: {why}"] = None
        for level, at_level in _by_level(done.runs).items():
            base = at_level[0]
            for run in at_level[1:]:
                if why := _differs(run, base, at_level):
                    self.dropped[f"{run.cell.allocator} in cell {cell} on {done.facts.host}: {why}"] = None
                    continue
                for name, ratio in _ratios(base, run).items():
                    key = (cell, level, run.cell.allocator, name, run.cell.control)
                    self.of.setdefault(key, {}).setdefault(place, array("d")).append(ratio)


def effects(pairs: Mapping[Key, Mapping[Place, Sequence[float]]], cells: Sequence[SweepCell]) -> list[Effect]:
    """Every effect, in the order of the plan."""
    names = [cell.name for cell in cells]
    allocators = [word.partition("=")[0] for word in cells[0].allocators]

    def place(key: Key) -> tuple[int, str, int, int]:
        cell, level, allocator, metric, _ = key
        return names.index(cell), level, allocators.index(allocator), METRICS.index(metric)

    return [_effect(key, pairs[key], cells[0].worth) for key in sorted(pairs, key=place)]


def combined(of: Sequence[Sequence[float]]) -> tuple[Estimate, Heterogeneity]:
    """The mean of machines like these, from the ratios of several, and how far machines differ.

    Throws ValueError of a single machine.
    """
    logs = [[math.log(ratio) for ratio in ratios] for ratios in of]
    if len(logs) < 2:
        raise ValueError("one machine says nothing of others")
    means = [statistics.fmean(each) for each in logs]
    counts = [len(each) for each in logs]
    freedom = sum(counts) - len(counts)
    squares = sum((x - mean) ** 2 for each, mean in zip(logs, means, strict=True) for x in each)
    within = squares / freedom if freedom else 0.0
    errors = [within / count for count in counts]
    between = _between(means, errors)
    weights = [1 / max(error + between, 1e-18) for error in errors]
    middle = _mean(means, weights)
    degrees = len(means) - 1
    spread = _squares(means, weights, middle) / degrees / sum(weights)
    reach = min(_student(degrees) * math.sqrt(spread), math.log(1e6))
    low, high = math.exp(middle - reach), math.exp(middle + reach)
    value = math.exp(middle)
    return (
        Estimate(value=value, low=min(low, value), high=max(high, value)),
        _heterogeneity(means, counts, within, freedom, between),
    )


def _between(means: Sequence[float], errors: Sequence[float]) -> float:
    """The variance between machines by which their weighted squares are what they should be; at least 0."""
    degrees = len(means) - 1

    def excess(variance: float) -> float:
        weights = [1 / max(error + variance, 1e-18) for error in errors]
        return _squares(means, weights, _mean(means, weights)) - degrees

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, statistics.variance(means) + max(errors)
    while excess(high) > 0:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def _heterogeneity(
    means: Sequence[float], counts: Sequence[int], within: float, freedom: int, between: float
) -> Heterogeneity:
    """By a one-way analysis of variance."""
    degrees = len(means) - 1
    if not freedom or not within:
        return Heterogeneity(between=math.sqrt(between), share=float(between > 0), p=1.0)
    weights = [float(count) for count in counts]
    ratio = _squares(means, weights, _mean(means, weights)) / degrees / within
    return Heterogeneity(
        between=math.sqrt(between),
        share=max(0.0, 1 - 1 / ratio) if ratio else 0.0,
        p=distributions.fisher_tail(degrees, freedom, ratio),
    )


def _effect(key: Key, of: Mapping[Place, Sequence[float]], worth: float) -> Effect:
    cell, level, allocator, metric, control = key
    kinds: dict[str, list[Sequence[float]]] = {}
    for (kind, _), ratios in of.items():
        kinds.setdefault(kind, []).append(ratios)
    by_kind = [_of_kind(kind, ratios, len(kinds), worth) for kind, ratios in kinds.items()]
    overall = heterogeneity = None
    if len(of) > 1:
        overall, heterogeneity = combined(list(of.values()))
    told = overall or by_kind[0].ratio
    return Effect(
        cell=cell,
        allocator=allocator,
        level=level,
        metric=metric,
        noise=control,
        kinds=by_kind,
        machines=[
            MachineEffect(host=host, kind=kind, rounds=len(ratios), ratio=_interval(ratios))
            for (kind, host), ratios in of.items()
        ],
        overall=overall,
        verdict=_verdict(told, worth),
        heterogeneity=heterogeneity,
        helps=[each.kind for each in by_kind if each.proven == "better"],
        harms=[each.kind for each in by_kind if each.proven == "worse"],
    )


def _of_kind(kind: str, of: Sequence[Sequence[float]], kinds: int, worth: float) -> KindEffect:
    every = [ratio for ratios in of for ratio in ratios]
    ratio = _interval(every)
    # All intervals together hold in 95 % of sweeps (Bonferroni): a few of many kinds differ by chance.
    together = _interval(every, 1 - (1 - rounds.LEVEL) / kinds)
    return KindEffect(
        kind=kind,
        machines=len(of),
        rounds=len(every),
        ratio=ratio,
        verdict=_verdict(ratio, worth),
        proven=_verdict(together, worth),
    )


def _interval(ratios: Sequence[float], level: float = rounds.LEVEL) -> Estimate | None:
    return rounds.typical(ratios, level) if len(ratios) >= rounds.LEAST_ROUNDS else None


def _verdict(ratio: Estimate | None, worth: float) -> Verdict:
    return rounds.verdict(ratio, worth=worth) if ratio is not None else "inconclusive"


def _by_level(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The sound runs of each level, the baseline first; a level that lacks it is left out."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        if not (run.outcome.signal or run.outcome.failure or run.outcome.timed_out):
            found.setdefault(run.cell.level, []).append(run)
    base = next((run.cell.allocator for run in runs if run.cell.control), "")
    ordered = {
        level: sorted(each, key=lambda run: (run.cell.allocator != base, run.cell.control))
        for level, each in found.items()
    }
    return {
        level: each
        for level, each in ordered.items()
        if each[0].cell.allocator == base and not each[0].cell.control
    }


def _differs(run: Run, base: Run, runs: Sequence[Run]) -> str:
    """In what the program does something else under the allocator, in words; empty if in nothing."""
    if run.outcome.status != base.outcome.status:
        return f"exit status {run.outcome.status} instead of {base.outcome.status}"
    if run.outcome.stdout_digest != base.outcome.stdout_digest and not _varies(runs):
        return "the program's output differs from the baseline's"
    return ""


def _varies(runs: Sequence[Run]) -> bool:
    """Whether the baseline's two runs differ, or there is but one."""
    base = runs[0]
    digests = [run.outcome.stdout_digest for run in runs if run.cell.allocator == base.cell.allocator]
    return len(digests) < 2 or len(set(digests)) > 1


def _ratios(base: Run, run: Run) -> dict[str, float]:
    known = {each.name for each in metrics.known([base.outcome, run.outcome])}
    found = {}
    for name in METRICS:
        metric = metrics.named(name)
        if name in known and metrics.says(metric, base):
            before, after = metric.of(base.outcome), metric.of(run.outcome)
            found[name] = rounds.paired_ratios([before], [after], metric.quantum)[0]
    return found


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(w * x for w, x in zip(weights, values, strict=True)) / sum(weights)


def _squares(values: Sequence[float], weights: Sequence[float], middle: float) -> float:
    return sum(w * (x - middle) ** 2 for w, x in zip(weights, values, strict=True))


def _student(degrees: int) -> float:
    return distributions.student_quantile(degrees, (1 + rounds.LEVEL) / 2)


def collected(blocks: Iterable[Done]) -> Pairs:
    """The ratios of these blocks, each of which is forgotten then."""
    pairs = Pairs()
    for done in blocks:
        pairs.add(done)
    return pairs
