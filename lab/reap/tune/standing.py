"""Verdict of a confirmation on a setting, by the rules by which `reap run` and `reap wall` accept one."""

from collections.abc import Mapping
from typing import Literal

from reap.allocators.knobs import Objective
from reap.compare import judge
from reap.compare.analyse import cpu_time
from reap.experiment import records as compared
from reap.experiment.records import Comparison, Ratio, Side

Standing = Literal["gain", "little", "none", "costly", "inconclusive", "short", "untried"]
"""`little`: less time for certain, which may or may not be worth a change. `costly`: a gain in time that does
not pay for the memory that it takes."""

LEAST_BYTES = 1 << 18
"""So little memory is no gain: the kernel counts resident pages in batches of each processor."""

_WHOLE_RUN = ("cpu", "wall")
"""Metrics in which a short program shows little but its start."""

_OF_MEMORY: dict[Objective, compared.Objective] = {"memory": "peak", "settled": "settled", "mean": "mean"}

_KNOWN: dict[judge.Standing, Standing] = {
    judge.Standing.GAIN: "gain",
    judge.Standing.NONE: "none",
    judge.Standing.INCONCLUSIVE: "inconclusive",
    judge.Standing.SHORT: "short",
    judge.Standing.UNTRUSTED: "untried",
}


def of(
    objective: Objective,
    metric: str,
    ratios: Mapping[str, Ratio],
    noise: Mapping[str, Ratio],
    *,
    short: bool,
    widening: float,
    worth: float,
) -> Standing:
    """Return how a setting stands in an objective, which `metric` stands for, by its ratios in paired rounds.

    `noise` is the baseline against itself in the same rounds, `short` whether the program ends too soon for
    a ratio of its time, and `worth` the least gain that matters.
    """
    ratio = ratios.get(metric)
    if ratio is None:
        return "untried"
    if short and metric in _WHOLE_RUN:
        return "short"
    rounds = len(ratio.pairs)
    comparison = Comparison(
        workload="",
        command=[],
        baseline="",
        rounds=rounds,
        sides=[],
        objective=_OF_MEMORY.get(objective, "time"),
        noise=dict(noise),
        exit_code=0,
        stdout_varies=False,
        widening=widening,
        worth=worth,
    )
    if objective not in _OF_MEMORY and metric != (cpu_time(ratios) or ratio).metric:
        return _KNOWN[judge.standing_of(ratio, rounds, comparison)]
    side = Side(
        allocator="",
        rounds=rounds,
        verified=True,
        provider="",
        ratios=dict(ratios),
        same_output=None,
        same_exit=True,
    )
    found = judge.standing(side, comparison)
    if objective not in _OF_MEMORY and judge.gains_little(side, comparison):
        return "costly" if judge.costs_heavy_memory(side) else "little"
    if found is not judge.Standing.GAIN:
        return _KNOWN[found]
    if objective in _OF_MEMORY:
        return "gain" if ratio.baseline - ratio.value >= LEAST_BYTES else "none"
    won = judge.gain(side, comparison)
    if won is None or won.metric != metric:  # the gain is in wall time alone
        return "none"
    return "gain" if judge.pays(side, comparison) else "costly"
