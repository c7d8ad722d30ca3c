"""Remedies tried at once: the program in pairs, as it is and with each of them, interleaved."""

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from reap.allocators import catalog
from reap.allocators.records import DEFAULT, Allocator
from reap.base import units
from reap.base.records import Record
from reap.compare import analyse, judge, phrases, run
from reap.compare.judge import Standing
from reap.evidence.judge.records import OF_MEMORY, Remedy, Trial, WallVerdict
from reap.experiment.budget import LEAST_ROUNDS
from reap.experiment.folder import Folder
from reap.experiment.records import Comparison, Ratio, Side
from reap.experiment.runner import Listener
from reap.experiment.specify import Conditions, specify

MOST = 4
"""Remedies that are tried: the first of a verdict's, which are those that fit its cause best."""

BUDGET = 60.0
"""Seconds for all runs together, where no one says otherwise."""

_SEPARATORS = {"GLIBC_TUNABLES": ":", "MALLOC_CONF": ",", "GODEBUG": ",", "NODE_OPTIONS": " "}
"""Variables that hold several words, of which the last counts."""


class Plan(Record):
    """What is to be tried."""

    remedies: list[Remedy]
    allocators: list[Allocator]
    """An arm each, called as its remedy."""
    base: Allocator | None = None
    """What they are compared with; None for the C library's own."""
    missing: list[str] = []
    """What could not be tried, a sentence each."""


def plan(
    verdict: WallVerdict,
    environment: Mapping[str, str] | None = None,
    *,
    base: Allocator | None = None,
    seconds: float = 0.0,
    budget: float = BUDGET,
) -> Plan:
    """The remedies that can be tried here without changing the program.

    `environment` is what the program would be started with; its words stay, ours come after them. `base` is
    the allocator that it was preloaded with, if any. Of a program that takes `seconds`, no more remedies are
    tried than have enough rounds in the `budget`; the first is tried in any case.
    """
    most = max(1, min(MOST, _affordable(seconds, budget)))
    held = os.environ if environment is None else environment
    remedies: list[Remedy] = []
    arms: list[Allocator] = []
    missing: list[str] = []
    for remedy in verdict.remedies:
        if not remedy.can_be_tried:
            continue
        own = base or Allocator(name=DEFAULT)
        found = catalog.find(remedy.allocator) if remedy.allocator else own
        if not isinstance(found, Allocator):
            missing.append(f"{remedy.name} is not installed: {found.install}")
        elif base and remedy.allocator == base.name:
            continue
        elif len(arms) >= most:
            missing += [f"{remedy.name} was not tried: --budget allows more"] if most < MOST else []
        else:
            remedies.append(remedy)
            variables = {name: _joined(name, word, held) for name, word in remedy.environment.items()}
            arms.append(
                Allocator(name=remedy.name, library=found.library, environment=variables, notes=found.notes)
            )
    return Plan(remedies=remedies, allocators=arms, base=base, missing=missing)


def begin(
    path: Path,
    command: list[str],
    planned: Plan,
    *,
    runs: int = 0,
    budget: float = BUDGET,
    timeout: float | None = None,
    stdin: Iterable[bytes] | None = None,
    force: bool = False,
) -> Folder:
    """A new experiment in which they are tried; `reap compare --resume` goes on with it. Throws ReapError."""
    spec = specify(
        command,
        [*([planned.base] if planned.base else []), *planned.allocators],
        baseline=planned.base.name if planned.base else DEFAULT,
        conditions=Conditions(
            runs=runs,
            budget=budget,
            timeout=timeout,
            stdin=stdin is not None,
            pairing="auto" if all(each.metric == "cpu" for each in planned.remedies) else "sequential",
            resident=any(each.metric == "resident" for each in planned.remedies),
        ),
    )
    return Folder.create(path, spec, stdin, force=force)


def tried(
    verdict: WallVerdict, folder: Folder, planned: Plan, listener: Listener | None = None
) -> tuple[WallVerdict, Comparison]:
    """Runs what is left of it: the verdict with what came of it, and the ratios.

    Throws ReapError, and `InterruptedRunError`.
    """
    comparison = run.compare(folder, listener)
    return with_trial(verdict, planned, comparison), comparison


def drawn(planned: Plan, comparison: Comparison) -> Trial:
    """What the comparison says of the remedies. Pure."""
    sides = {side.allocator: side for side in comparison.sides}
    pairs = [(each, sides[each.name]) for each in planned.remedies if each.name in sides]
    winner = _best(pairs, comparison)
    said = [_sentence(remedy, side, comparison) for remedy, side in pairs]
    of_memory = any(remedy.metric == "resident" for remedy, _ in pairs)
    if noise := phrases.noise(comparison, judge.RESIDENT[0] if of_memory else "cpu"):
        said.append(f"{noise}.")
    if comparison.stopped_early and comparison.rounds < LEAST_ROUNDS:
        ran = units.number(comparison.rounds, "round")
        said.append(
            f"The budget ended after {ran}; at least {LEAST_ROUNDS} are needed: --budget allows more."
        )
    return Trial(
        tried=[remedy for remedy, _ in pairs],
        sentences=[*said, *planned.missing],
        best=winner,
    )


def with_trial(verdict: WallVerdict, planned: Plan, comparison: Comparison) -> WallVerdict:
    """The verdict with what came of its remedies. Pure."""
    trial = drawn(planned, comparison)
    remedies = {each.name: each for each in planned.remedies}
    pairs = [(remedies[each.allocator], each) for each in comparison.sides if each.allocator in remedies]
    won = next((_gain(*pair, comparison) for pair in pairs if pair[1].allocator == trial.best), None)
    if won is not None:
        name = phrases.METRICS.get(won.metric, won.metric)
        amount = phrases.amount(won.ratio.value, name)
        said = f"Tried at once, {trial.best} takes {amount} (95 % CI {phrases.interval(won.ratio)})."
    elif pairs and not any(analyse.trusted(side) for _, side in pairs):
        said = "The program ran differently with every remedy that was tried, so they say nothing."
    elif comparison.rounds < LEAST_ROUNDS or any(
        _standing(*pair, comparison) is Standing.INCONCLUSIVE for pair in pairs
    ):
        said = "The remedies were tried, but the runs are too few or too noisy to show whether one helps."
    elif verdict.cause in OF_MEMORY:
        said = "None of the remedies that were tried leaves less memory"
        said += "." if planned.missing else ": what is left is to change the program."
    else:
        said = (
            "None of the remedies that were tried helps, which speaks against that cause or for changing "
            "the program instead."
        )
    return msgspec.structs.replace(
        verdict,
        trial=msgspec.structs.replace(trial, conclusion=said),
        paragraph=f"{verdict.paragraph} {said}",
    )


def runs_of(remedies: int) -> int:
    """How often the program runs to try so many: warm-ups, and the fewest rounds that say something."""
    return (remedies + 1) + LEAST_ROUNDS * (remedies + 2)


def _affordable(seconds: float, budget: float) -> int:
    if not 0 < seconds < math.inf:
        return MOST
    return max((n for n in range(1, MOST + 1) if runs_of(n) * seconds <= budget), default=0)


def _joined(name: str, word: str, held: Mapping[str, str]) -> str:
    before, separator = held.get(name, ""), _SEPARATORS.get(name, "")
    return f"{before}{separator}{word}" if separator and before else word


def _gain(remedy: Remedy, side: Side, comparison: Comparison) -> Ratio | None:
    of_memory = remedy.metric == "resident"
    return (judge.leaves_less if of_memory else judge.gain)(side, comparison)


def _standing(remedy: Remedy, side: Side, comparison: Comparison) -> Standing:
    of_memory = remedy.metric == "resident"
    return (judge.standing_in_memory if of_memory else judge.standing)(side, comparison)


def _best(pairs: list[tuple[Remedy, Side]], comparison: Comparison) -> str:
    """The one with the largest proven gain, or the first as good as that: the plainest stand first.

    Empty where none has any.
    """
    won = [
        (gain.ratio, remedy.name)
        for remedy, side in pairs
        if _standing(remedy, side, comparison) is Standing.GAIN
        and (gain := _gain(remedy, side, comparison)) is not None
    ]
    largest = min((ratio for ratio, _ in won), key=lambda ratio: ratio.value, default=None)
    return next((name for ratio, name in won if largest and ratio.value <= largest.high), "")


def _sentence(remedy: Remedy, side: Side, comparison: Comparison) -> str:
    """What one remedy did, compared with what was expected of it."""
    if not analyse.trusted(side):
        return f"{remedy.name}: {side.problem or 'its figures cannot be trusted'}."
    if remedy.metric == "resident":
        return f"{phrases.resident(side)}. Expected: {remedy.expect}."
    ratio = judge.gain(side, comparison) or side.ratios[remedy.metric]
    measured = phrases.effect(side, ratio)
    memory = side.ratios.get("peak_resident")
    beside = ""
    if memory is not None and memory.verdict == "worse" and judge.costs_heavy_memory(side):
        beside = f"; peak memory is {units.change(memory.ratio.value)}"
    return f"{measured}{beside}. Expected: {remedy.expect}."
