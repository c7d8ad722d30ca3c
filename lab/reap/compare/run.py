"""Allocators compared on one program: runs the experiment, and draws the comparison from its runs."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from reap.allocators import verify
from reap.allocators.records import DEFAULT, Allocator
from reap.base import units
from reap.compare import analyse, latency
from reap.compare.latency import LATENCY
from reap.compare.serving import ServerStarter
from reap.experiment import arms, metrics, requests, statistics
from reap.experiment.folder import Folder
from reap.experiment.once import last_words
from reap.experiment.records import Cell, Comparison, Ratio, Run, Side, Spread, Witness
from reap.experiment.runner import Listener, Runner
from reap.experiment.spec import Spec
from reap.launch import preloads, price, wrappers
from reap.launch.host import quota

SERVED = (
    *("cpu", "cpu_per_request", "throughput", "peak_resident", "settled_resident", "mean_resident"),
    *("minor_faults", *LATENCY),
)
"""The metrics of a server under load."""


def compare(folder: Folder, listener: Listener | None = None) -> Comparison:
    """Runs what is left of the experiment in `folder` and compares. Throws ReapError.

    On Ctrl-C it throws `runner.InterruptedRunError`; the folder can be resumed.
    """

    def so_far() -> Comparison:
        dropped = {
            arms.label(folder.spec, arm): runner.dropped[arm.arm()]
            for arm in arms.arms(folder.spec)
            if arm.arm() in runner.dropped
        }
        notes = [*runner.notes, *(starter.notes if starter else []), *quota.note(limit, quota.here())]
        return draw(
            folder.spec,
            folder.runs,
            dropped,
            notes,
            stopped_early=runner.stopped_early,
            widening=runner.widening,
        )

    def is_decided() -> bool:
        return not folder.spec.all_rounds and analyse.decided(so_far())

    limit = quota.here()
    starter = ServerStarter(folder, folder.spec.server) if folder.spec.server else None
    runner = Runner(folder, listener or Listener(), starter, is_decided=is_decided)
    runner.run()
    return msgspec.structs.replace(
        so_far(),
        needed_budget=runner.needed_budget,
        pairing=runner.pairing,
        preloaded=preloads.inherited(),
        decided=runner.decided,
        round_seconds=runner.round_seconds,
    )


def draw(
    spec: Spec,
    runs: Sequence[Run],
    dropped: Mapping[str, str],
    notes: Sequence[str] = (),
    *,
    stopped_early: bool = False,
    widening: float = 1.0,
) -> Comparison:
    """The comparison that these runs give, with intervals so many times as wide as for fixed rounds."""
    witnesses = [run for run in runs if run.cell.counted or run.cell.simulated]
    first = spec.server.left_out if spec.server else 0
    measured = [
        run
        for run in runs
        if not (run.warmup or run.cell.counted or run.cell.simulated) and run.cell.repeat >= first
    ]
    every = {arms.label(spec, arm): arm for arm in arms.arms(spec)}
    warmups = {arms.label(spec, run.cell): run for run in runs if run.warmup}
    base = next(iter(every.values()))
    baseline = _sound(_by_round(measured, base))
    control = _sound(_by_round(measured, base, control=True))
    reference = [*baseline.values(), *control.values()] or [warmups[spec.baseline.name]]
    exits = {run.outcome.status for run in reference}
    outputs = {run.outcome.stdout_digest for run in reference}
    probed = warmups.get(spec.baseline.name)
    expected = _Expected(
        baseline=baseline,
        exits=exits,
        outputs=outputs,
        dropped=dropped,
        provider=probed.outcome.malloc_provider if probed and _is_bare(spec) else "",
        widening=widening,
    )
    allocators = {each.name: each for each in spec.allocators}
    sides = [
        _side(spec, name, allocators[arm.allocator], _by_round(measured, arm), warmups[name], expected)
        for name, arm in every.items()
        if arm is not base and name in warmups
    ]
    said = [*spec.program.notes, *(note for each in spec.allocators for note in each.notes), *notes]
    if len(exits) > 1:
        said.append(f"the program's own exit status varies: {', '.join(map(str, sorted(exits)))}")
    said += _warming(spec)
    said += requests.notes(measured, probed)
    said += latency.notes(measured)
    return Comparison(
        workload=spec.workload,
        command=spec.program.command,
        baseline=_name_of_baseline(spec, probed),
        rounds=len(baseline),
        sides=sides,
        objective=spec.objective,
        load=spec.server.load.command if spec.server else [],
        loads=spec.server.each_start if spec.server else 0,
        due_per_second=latency.due_per_second(measured),
        spread=_spread(baseline, control) if spec.server else None,
        against={each.name: each.program.command for each in spec.against},
        witness=_witness(spec, witnesses, exits),
        scanned=spec.scanned,
        noise=_ratios(spec, baseline, control, widening),
        exit_code=reference[0].outcome.status,
        last_words=last_words([run.outcome for run in reference], reference[0].outcome.status),
        stdout_varies=len(outputs) > 1,
        stopped_early=stopped_early,
        widening=widening,
        worth=spec.worth,
        others=analyse.others(measured),
        notes=list(dict.fromkeys(said)),
    )


def _warming(spec: Spec) -> list[str]:
    """Note on a server that needs more loads to be warm than it was given."""
    server = spec.server
    if server is None or not server.cold:
        return []
    loads, name = server.until_warm, wrappers.name(spec.program.command)
    note = (
        f"{name} was warm after {units.number(loads, 'load')} of a start only: as many were made before "
        f"those that count, and the first round was left out (--warmup {loads} has them from the start)"
    )
    return [note]


def differs(comparison: Comparison) -> bool:
    """Whether some allocator changed what the program does; preloads that price allocation are none."""
    return any(
        not side.same_exit or side.same_output is False
        for side in comparison.sides
        if not price.is_price(side.allocator)
    )


def compares_nothing(comparison: Comparison) -> bool:
    """Whether allocators or commands were asked for, and none of them has a ratio that is its own."""
    return bool(comparison.sides) and not any(side.verified and side.ratios for side in comparison.sides)


def _name_of_baseline(spec: Spec, warmup: Run | None) -> str:
    """The allocator that the program has by itself: glibc's, unless another served it in the probed run."""
    if spec.scanned:
        return spec.variant
    if spec.against:
        return wrappers.name(spec.program.command)
    name, provider = spec.baseline.name, warmup.outcome.malloc_provider if warmup else ""
    file = Path(provider).name
    if spec.program.stands_aside and name == DEFAULT and not spec.baseline.library:
        return f"its own {spec.program.stands_aside}"
    if name != DEFAULT or spec.baseline.library or not file or file.startswith(("libc.so", "libc-2")):
        return name
    own = Path(spec.program.path).name == file
    return f"its own ({file})" if own else file


def _witness(spec: Spec, runs: Sequence[Run], exits: set[int]) -> Witness | None:
    """Instructions counted in runs that ended as the baseline does; None without the baseline's."""
    counts = {
        arms.label(spec, run.cell): run.outcome.events
        for run in runs
        if run.outcome.events and run.outcome.status in exits
    }
    base = counts.pop(arms.label(spec, arms.arms(spec)[0]), None)
    return Witness(by=spec.witness, baseline=base, counts=counts) if base and counts else None


def _spread(baseline: Mapping[int, Run], control: Mapping[int, Run]) -> Spread | None:
    rounds = sorted(baseline.keys() & control.keys())
    return statistics.spread(
        [
            [
                (other.cpu_ns / max(1, other.requests)) / (one.cpu_ns / max(1, one.requests))
                for one, other in zip(
                    baseline[number].outcome.loads, control[number].outcome.loads, strict=False
                )
                if one.cpu_ns and other.cpu_ns
            ]
            for number in rounds
        ]
    )


def _by_round(runs: Sequence[Run], arm: Cell, *, control: bool = False) -> dict[int, Run]:
    own = [run for run in runs if run.cell.arm() == arm.arm() and run.cell.control == control]
    return {run.cell.repeat: run for run in own}


def _sound(runs: Mapping[int, Run]) -> dict[int, Run]:
    """Runs that ended by themselves: a run that was killed has no cost that could be compared."""
    return {number: run for number, run in runs.items() if not (run.outcome.signal or run.outcome.failure)}


@dataclass(frozen=True, kw_only=True)
class _Expected:
    """Reference that an allocator is compared with."""

    baseline: Mapping[int, Run]
    exits: set[int]
    outputs: set[str]
    dropped: Mapping[str, str]
    provider: str
    """The file that serves malloc under the baseline; empty where that is no allocator by itself."""
    widening: float
    """Of intervals."""


def _is_bare(spec: Spec) -> bool:
    """Whether the baseline is the program as it is."""
    return not spec.against and spec.baseline == Allocator(name=DEFAULT)


def _is_same_file(one: str, other: str) -> bool:
    return bool(one and other) and os.path.realpath(one) == os.path.realpath(other)


def _side(
    spec: Spec, name: str, allocator: Allocator, own: Mapping[int, Run], warmup: Run, expected: _Expected
) -> Side:
    verification = verify.judge(
        allocator,
        warmup.outcome.heap,
        replaces=not spec.against,
        aside=bool(spec.program.stands_aside),
    )
    sound = _sound(own)
    every = [*own.values(), warmup]
    status = next((run.outcome.status for run in every if run.outcome.status not in expected.exits), None)
    problem = expected.dropped.get(name, "")
    if not problem and status is not None:
        problem = f"exit status {status} instead of {min(expected.exits)}"
    if not problem and any(_is_spoiled(run) for run in every):
        problem = "the memory that it touches ahead of the program ended, or its report was lost"
    ratios = _ratios(spec, expected.baseline, sound, expected.widening)
    if not problem and not ratios:
        problem = f"too few rounds were run for an interval ({len(sound)})"
    same_output = None
    if len(expected.outputs) == 1 and spec.server is None and not spec.scanned:
        same_output = all(run.outcome.stdout_digest in expected.outputs for run in every)
    if not problem and same_output is False:
        problem = "the program's output differs from the baseline's"
    return Side(
        allocator=name,
        rounds=len(sound.keys() & expected.baseline.keys()),
        verified=verification.verified,
        provider=verification.provider,
        environment=allocator.environment,
        ratios=ratios,
        same_output=same_output,
        same_exit=status is None,
        problem=problem,
        itself=bool(allocator.library) and _is_same_file(verification.provider, expected.provider),
        unpaired=None if spec.server else analyse.unpaired(expected.baseline, sound),
    )


def _is_spoiled(run: Run) -> bool:
    """Whether a preload that prices allocation did not do what it is for."""
    ahead = run.outcome.ahead
    return ahead is not None and (ahead.ended or ahead.overwritten)


def _ratios(
    spec: Spec, baseline: Mapping[int, Run], own: Mapping[int, Run], widening: float
) -> dict[str, Ratio]:
    rounds = sorted(baseline.keys() & own.keys())
    if len(rounds) < statistics.LEAST_ROUNDS:
        return {}
    before = [baseline[number].outcome for number in rounds]
    after = [own[number].outcome for number in rounds]
    first = baseline[rounds[0]]
    return {
        metric.name: statistics.compare(
            metric,
            [metric.of(each) for each in before],
            [metric.of(each) for each in after],
            widening=widening,
            worth=spec.worth,
        )
        for metric in metrics.known([*before, *after])
        if metrics.says(metric, first) and (spec.server is None or metric.name in SERVED)
    }
