"""Explanation of a comparison, in words: written once, for the terminal and for the page."""

import math

from reap.answer.words import listed
from reap.base import units
from reap.base.text import printable
from reap.compare import analyse, judge, pairings, phrases
from reap.compare import thresholds as at
from reap.compare.phrases import METRICS
from reap.experiment.metrics import MEMORY
from reap.experiment.records import Comparison, Ratio, Side
from reap.launch import price, wrappers

BELOW_ONE = "Ratios are to the baseline: below 1 is less (better), above 1 is more. Each ratio has a 95 % CI."

INCONCLUSIVE = "Inconclusive: the interval contains 1, so the difference may be chance."

DISTRUST = "(!) marks doubtful figures: another allocator was in use, or the program behaved differently."

REQUESTS = "Requests per second: higher is better."

_FASTER, _SLOWER, _OPEN, _SHORT = "faster", "slower", "inconclusive", "too short"
_LITTLE, _HEAVY = "little to gain", "gains too little for the memory that it takes"
_LESS, _MORE = "less memory", "more memory"

_NAMED = 3
"""Allocators in a headline."""

_HOW = {
    "simultaneous": "at the same time on one core",
    "sliced": "in turns on all cores",
    "sequential": "one after another",
}
"""How the runs of a round were made."""

NOISE = (
    "Noise: the baseline against itself in the same rounds. A gain counts only against both baseline runs."
)


def headline(comparison: Comparison) -> str:
    """The answer in a few words."""
    base = comparison.baseline
    judged = {
        side.allocator: _outcome(side, comparison)
        for side in comparison.sides
        if not side.itself and judge.standing(side, comparison) is not judge.Standing.UNTRUSTED
    }
    if not judged:
        return "nothing could be compared"
    if _SHORT in judged.values():
        return "the program is too short to compare allocators on it"
    gained = {name for name, outcome in judged.items() if outcome in (_FASTER, _LESS)}
    better = [side.allocator for side in by_time(comparison) if side.allocator in gained]
    if better:
        names = better if len(better) <= _NAMED else [better[0], f"{len(better) - 1} others"]
        return f"{listed(names)} {_does(comparison, several=len(better) > 1)} than {base}"
    if comparison.objective != "time":
        is_open = any(outcome.startswith(_OPEN) for outcome in judged.values())
        return _OPEN if is_open else f"none takes less {_objective_name(comparison)} than {base}"
    if saving := [side.allocator for side in comparison.sides if judge.saves_memory(side, comparison)]:
        return f"{saving[0]} takes less memory than {base}, and as much time"
    if any(outcome.startswith(_OPEN) for outcome in judged.values()):
        return _OPEN
    if little := [side for side in by_time(comparison) if judge.hardly_pays(side, comparison)]:
        return f"{_LITTLE}: {phrases.takes(little[0], analyse.cpu(little[0]))} than {base}"
    if heavy := next((name for name, outcome in judged.items() if outcome == _HEAVY), ""):
        return f"{heavy} {_HEAVY}"
    if len(judged) > 1:
        less = any(judge.lessens(side, comparison) for side in comparison.sides)
        by = f" by {units.percent(comparison.worth)}" if less else ""
        return f"none of {len(judged)} is faster than {base}{by}"
    ((name, outcome),) = judged.items()
    return f"{name} is slower than {base}" if outcome == _SLOWER else f"{name}: {outcome}"


def _does(comparison: Comparison, *, several: bool) -> str:
    if comparison.objective == "time":
        return "are faster" if several else "is faster"
    return f"{'take' if several else 'takes'} less {_objective_name(comparison)}"


def _objective_name(comparison: Comparison) -> str:
    return METRICS[MEMORY[comparison.objective]]


def by_time(comparison: Comparison) -> list[Side]:
    """The allocators or commands, that which takes the least time first; those without a result last.

    By memory where that is what is compared.
    """

    def place(side: Side) -> float:
        known = analyse.compared(side, comparison)
        return analyse.of_objective(side, comparison).ratio.value if known else math.inf

    return sorted(comparison.sides, key=place)


def why(comparison: Comparison) -> str:
    """Basis of the verdict: the rounds, how they were paired, and their noise."""
    cpu = analyse.cpu_time(comparison.noise)
    metric = MEMORY.get(comparison.objective) or (cpu.metric if cpu else "")
    noise = phrases.noise(comparison, metric)
    return f"{rounds(comparison)}, {_HOW[comparison.pairing.method]}{f'; {noise}' if noise else ''}."


def conditions(comparison: Comparison) -> list[str]:
    """Limits of the verdict: a program that is too short, or others that used the machine meanwhile.

    Neither limits a verdict on memory.
    """
    if comparison.objective != "time":
        return []
    short = next((side for side in comparison.sides if analyse.too_short(side, comparison)), None)
    if short is not None:
        program = wrappers.name(comparison.command)
        return [phrases.too_short(program, analyse.cpu(short).baseline)]
    return [*filter(None, [phrases.load(comparison)])]


def rounds(comparison: Comparison) -> str:
    """Number of rounds, and why there were no more."""
    early = " (stopped early: the budget ended)" if comparison.stopped_early else ""
    early = " (stopped: all decided)" if comparison.decided else early
    return units.number(comparison.rounds, "paired round") + early


def more(comparison: Comparison) -> str:
    """Advice on how to decide what is inconclusive, a sentence; empty where nothing is."""
    left = _left(comparison)
    return phrases.more_rounds(judge.all_needed(left, comparison), comparison) if left else ""


def witness(comparison: Comparison, most: int | None = None) -> str:
    """Instructions that each side executes, or each of the first `most`; empty where none were counted."""
    held = comparison.witness
    if held is None:
        return ""
    changes = [
        f"{name} {units.change(count / held.baseline).replace('less', 'fewer')}"
        for name, count in held.counts.items()
    ]
    by = "callgrind" if held.by == "callgrind" else "the processor's counters"
    more = [f"{len(changes) - most} more"] if most and most < len(changes) else []
    return f"Instructions: {', '.join([*changes[:most], *more])} ({by}, one run each)."


def rounds_to_add(comparison: Comparison) -> int:
    """Rounds in all that would decide what is inconclusive; 0 where nothing is, or they do not help."""
    needed = judge.all_needed(_left(comparison), comparison) or 0
    return needed if needed > comparison.rounds else 0


def _left(comparison: Comparison) -> list[Side]:
    """Inconclusive sides that have enough rounds; from fewer it is unknown how many would do."""
    return [
        side
        for side in comparison.sides
        if judge.standing(side, comparison) is judge.Standing.INCONCLUSIVE and side.rounds >= at.FEWEST_ROUNDS
    ]


def verdict(comparison: Comparison) -> list[str]:
    """Effects of each allocator or command on time, and on memory where that is a reason; a sentence each."""
    return [of_side(side, comparison) for side in comparison.sides]


def of_side(side: Side, comparison: Comparison) -> str:
    """Part of `verdict` on one side."""
    standing = judge.standing(side, comparison)
    if standing is judge.Standing.UNTRUSTED:
        unknown = "its memory could not be sampled" if analyse.trusted(side) else trust(side, comparison)
        return f"{side.allocator}: no result: {side.problem.rstrip('.') or unknown}."
    if side.itself:
        return phrases.itself(side, comparison)
    if standing is judge.Standing.SHORT:
        said = f"{phrases.difference(side, analyse.cpu(side))}."
    else:
        said = f"{phrases.effect_in_units(side, _telling(side, comparison))}: {_outcome(side, comparison)}."
    more = []
    if comparison.objective != "time":
        more = [phrases.beside(side, MEMORY[comparison.objective])]
    elif standing is judge.Standing.GAIN or judge.saves_memory(side, comparison):
        more = [phrases.memory(side)]
    hidden = judge.hidden_by_peak(side, comparison) if comparison.objective == "time" else None
    more += [phrases.settled(side, hidden)] if hidden else []
    more += [phrases.latency(side)]
    return " ".join([said, *(f"{each[:1].upper()}{each[1:]}." for each in more if each)])


def _telling(side: Side, comparison: Comparison) -> Ratio:
    """The ratio that decides: of time, or of memory where that is compared."""
    if comparison.objective != "time":
        return analyse.of_objective(side, comparison)
    standing, cpu = judge.standing(side, comparison), analyse.cpu(side)
    won = judge.gain(side, comparison) if standing is judge.Standing.GAIN else None
    return won or judge.slower_elsewhere(cpu, side, comparison.worth) or cpu


def _outcome(side: Side, comparison: Comparison) -> str:
    standing, ratio = judge.standing(side, comparison), _telling(side, comparison)
    time = comparison.objective == "time"
    if time and judge.hardly_pays(side, comparison):
        return _LITTLE
    if time and (judge.gains_little(side, comparison) or standing is judge.Standing.GAIN):
        # A build is asked about for its time; an allocator is chosen, and its memory is its price.
        return _FASTER if comparison.against or judge.pays(side, comparison) else _HEAVY
    if standing is judge.Standing.GAIN:
        return _LESS
    if standing is judge.Standing.SHORT:
        return _SHORT
    if side.rounds < at.FEWEST_ROUNDS:
        return f"{_OPEN}, {units.number(side.rounds, 'round')} cannot decide it"
    if ratio.verdict == "equivalent":
        return f"equivalent to {comparison.baseline} within {units.percent(comparison.worth)}"
    if ratio.verdict != "inconclusive" and analyse.within_noise(ratio, comparison):
        return "within the noise"
    if ratio.ratio.low > 1:
        return _SLOWER if time else _MORE
    if standing is judge.Standing.NONE:
        return "no gain worth having"
    return _OPEN


def made(comparison: Comparison) -> str:
    """Describes how the runs of a round were paired; of servers what is measured, too."""
    held = comparison.pairing
    return pairings.served(held, comparison.loads) if comparison.load else pairings.paired(held)


def reading(comparison: Comparison) -> list[str]:
    """Explains how the tables are read, a sentence or two each."""
    lines = [BELOW_ONE, phrases.AMOUNTS]
    if any({"request_rate", "throughput"} & side.ratios.keys() for side in comparison.sides):
        lines.append(REQUESTS)
    lines += [INCONCLUSIVE, phrases.equivalent(comparison.worth), NOISE]
    if tails := _unpaired(comparison):
        lines.append(tails)
    if comparison.load:
        lines += _of_loads(comparison)
    lines += phrases.stopping(comparison.widening)
    if not all(analyse.trusted(side) for side in comparison.sides):
        lines.append(DISTRUST)
    return lines


def _unpaired(comparison: Comparison) -> str:
    """Share of each side's time with no run of the baseline beside it; empty where they shared no core."""
    parts = [
        f"{units.percent(side.unpaired)} of {side.allocator}'s time"
        for side in comparison.sides
        if side.unpaired is not None
    ]
    if not parts:
        return ""
    return f"{listed(parts)} ran without its partner: a true difference may be a little larger."


def _of_loads(comparison: Comparison) -> list[str]:
    """Notes on the loads of a server."""
    lines = ["The interval is made from starts: loads of one start share its address-space layout."]
    if (spread := comparison.spread) is not None:
        lines[0] += (
            f" The baseline's two servers differed by {units.percent(spread.load)} from load to load and by "
            f"{units.percent(spread.start)} from start to start beside that (standard deviations)."
        )
    if comparison.due_per_second:
        lines.append(
            f"Latency is that of {units.count(comparison.due_per_second)} requests per second, each from "
            "when it was due to its answer (no coordinated omission), measured of one server after another; "
            "a percentile is the mean over the loads of a start."
        )
    if any(side.ratios and analyse.PER_REQUEST not in side.ratios for side in comparison.sides):
        lines.append(
            "CPU time is that of whole loads, since the number of their requests is not known: "
            "--requests-per-load tells it."
        )
    return lines


def metric_name(metric: str) -> str:
    """Common name of a metric."""
    return METRICS.get(metric, metric.replace("_", " "))


def verdict_word(ratio: Ratio) -> str:
    """The verdict of one ratio."""
    words = (
        {"better": "more", "worse": "less"} if ratio.more_is_better else {"better": "less", "worse": "more"}
    )
    return words.get(ratio.verdict, ratio.verdict)


def trust(side: Side, comparison: Comparison) -> str:
    """States whether the allocator was really used and the program did the same work, in a few words."""
    if not side.verified:
        return "NOT VERIFIED"
    words = ["verified"]
    if not side.same_exit:
        words.append("OTHER EXIT STATUS")
    if comparison.load or comparison.scanned:
        return ", ".join(words)
    words.append(
        {True: "same output", False: "OTHER OUTPUT", None: "output varies by itself"}[side.same_output]
    )
    return ", ".join(words)


def best_side(comparison: Comparison) -> Side | None:
    """The trusted allocator with the lowest CPU ratio; what prices allocation is none."""
    sides = [side for side in comparison.sides if not price.is_price(side.allocator)]
    trusted = [side for side in sides if analyse.trusted(side)]
    return min(trusted, key=_cpu, default=None)


def _cpu(side: Side) -> float:
    cpu = analyse.cpu_time(side.ratios)
    return cpu.ratio.value if cpu else math.inf


def overview(comparison: Comparison) -> dict[str, str]:
    """Best allocator's ratio with its interval, its name, and its peak memory; empty where there is none."""
    side = best_side(comparison)
    if side is None:
        return {}
    memory, cpu = side.ratios.get("peak_resident"), analyse.cpu_time(side.ratios)
    span = units.ratio_with_interval(cpu.ratio) if cpu else units.UNKNOWN
    return {
        "cpu": f"{span} {printable(side.allocator)}",
        "memory": units.ratio(memory.ratio.value) if memory else units.UNKNOWN,
    }


def metrics(comparison: Comparison) -> list[str]:
    """Every metric that some allocator has, in the order in which they matter; not what never happened.

    CPU time per request takes the place of CPU time.
    """
    present = {
        metric
        for side in comparison.sides
        for metric, ratio in side.ratios.items()
        if ratio.value or ratio.baseline
    }
    if analyse.PER_REQUEST in present:
        present.discard("cpu")
    known = [metric for metric in METRICS if metric in present]
    return known + sorted(present - set(known))
