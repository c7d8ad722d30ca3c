"""Runs the trials that tell causes apart, after a first comparison: an experiment inside its folder."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from reap.compare import analyse, run
from reap.evidence import trials
from reap.evidence.analyse.suspicions.records import Suspicion
from reap.evidence.records import Wall
from reap.experiment.folder import Folder
from reap.experiment.records import Comparison
from reap.experiment.runner import Listener

FOLDER = "causes"
"""Of the second experiment, in that of the first."""


@dataclass(frozen=True)
class Explained:
    """Outcome of the trials that tell causes apart."""

    comparison: Comparison | None = None
    """None where there was nothing to try."""
    missing: dict[str, str] = field(default_factory=dict)
    """Why an arm was not tried, a clause, by its name."""
    takes: float = 0.0
    """Seconds that trials would take, where none was run for that; else 0."""


def explain(
    folder: Folder,
    listener: Listener,
    suspicions: Sequence[Suspicion],
    comparison: Comparison | None,
    wall: Wall,
) -> Explained:
    """Tries what proves or refutes the suspicions of a program that is known by `wall`.

    `comparison` is the first, None where no preload reaches what the program allocates: variables alone are
    tried then. It takes what the first left of a budget. What a killed predecessor ran is not run again.
    Throws ReapError, and `InterruptedRunError` on Ctrl-C.
    """
    path = folder.path / FOLDER
    spec = folder.spec
    spent = sum(run.seconds for run in folder.runs)
    program = trials.as_seen(spec.program, wall)
    left = trials.BUDGET if spec.budget is None else max(0.0, spec.budget - spent)
    plan = trials.second(
        suspicions,
        comparison,
        program,
        base=spec.allocators[0],
        wall=wall,
        budget=left,
    )
    if wall.unfinished or not plan.allocators or (comparison is not None and _says_nothing(comparison)):
        return Explained(missing=plan.missing)
    if (path / "experiment.json").is_file():
        opened = Folder.resume(path)
    else:
        stdin = [(folder.path / "stdin").read_bytes()] if spec.stdin else None
        opened = Folder.create(path, trials.spec_of(plan, spec, left, program), stdin)
    with opened as inner:
        ran = {each.name for each in inner.spec.allocators}
        missing = {name: why for name, why in plan.missing.items() if name not in ran}
        listener.say(f"telling causes apart: {', '.join(each.name for each in inner.spec.allocators[1:])}")
        return Explained(run.compare(inner, listener), missing)


def _says_nothing(comparison: Comparison) -> bool:
    """Whether the program fails, or is too short for figures of its time."""
    short = any(analyse.too_short(side, comparison) for side in comparison.sides)
    return short or comparison.exit_code >= 126
