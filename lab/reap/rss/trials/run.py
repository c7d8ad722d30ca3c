"""Tries remedies for memory: each once, and those that give most in paired rounds."""

import functools
import mmap
import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reap.allocators import catalog, elf, settings
from reap.allocators.records import Allocator
from reap.allocators.remedies import table as remedies
from reap.allocators.remedies.table import KnownRemedy
from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.base.files import opened_regular
from reap.compare import run as comparing
from reap.compare.serving import ServerStarter
from reap.experiment import arms
from reap.experiment.folder import Folder
from reap.experiment.metrics import MEMORY
from reap.experiment.records import Comparison, Run
from reap.experiment.runner import Listener, Runner
from reap.experiment.spec import Remedied, Spec
from reap.experiment.specify import Conditions, specify
from reap.launch import collectors, native_files
from reap.launch.host import machine
from reap.launch.program import Program
from reap.native import RESIDENT_TRIM_ENV
from reap.rss.records import Residence
from reap.rss.trials import analyse
from reap.rss.trials.records import Change, NotTried, Trials, Tried, Trim
from reap.server.records import Server

USUAL_SECONDS = 60.0
"""For all runs, where no budget is given ..."""
LEAST_ARMS = 4
"""... but as many remedies at least."""

_PERIODS = (0.1, 1.0)
"""Seconds between two trims: a tenth of the run's time, within these."""
_VARIABLE = re.compile(rb"\0((?:\w+_)?MALLOC_CONF)(?=\0)")
_BEHIND = "others gave more in their first run"


def specify_trials(
    program: Program,
    base: Allocator,
    residences: Sequence[Residence],
    seconds: float,
    *,
    budget: float | None,
    timeout: float | None,
    stdin: bool,
    server: Server | None = None,
) -> Spec:
    """The experiment that tries remedies on a program of which one run of so many seconds was observed.

    With `server` the program is one, and a run is from its start through its loads to its end. Throws
    ReapError where no remedy is known for it, or the budget has no time for one.
    """
    first = residences[0]
    given = machine.describe().huge_pages in ("always", "madvise")
    wanted = analyse.applicable(first, _runtimes(program, residences), huge_pages=given)
    left: dict[str, str] = {}
    written = {each.file: _written(each.file) for each in analyse.linked(residences)}
    environments = {each.name: analyse.environment(each, residences, written) for each in wanted}
    every = [_arm(each, environments[each.name], base, program, seconds, left) for each in wanted]
    tried = [each for each in every if each is not None]
    least = analyse.runs_for(min(len(tried), LEAST_ARMS), rounds=analyse.ROUNDS)
    runs = max(int(USUAL_SECONDS / seconds), least) if budget is None else int(budget / seconds) - 1
    number = analyse.affordable(len(tried), runs)
    if not tried:
        raise ReapError(
            "no remedy is known that could be tried on this program's memory",
            "compare allocators: reap compare --for settled -- CMD",
            ExitCode.FAILED,
        )
    if not number:
        raise ReapError(
            f"the budget of {budget:g} s has no time for a trial: a run takes {seconds:.1f} s",
            f"give --budget {analyse.runs_for(LEAST_ARMS) * seconds:.0f}",
            ExitCode.USAGE,
        )
    enough = analyse.runs_for(len(tried)) * seconds
    left |= {each.name: f"no time: --budget {enough:.0f} allows all" for each in tried[number:]}
    spec = specify(
        program.command,
        [base, *tried[:number]],
        baseline=base.name,
        conditions=Conditions(
            runs=analyse.ROUNDS, timeout=timeout, stdin=stdin, resident=True, objective="settled"
        ),
        server=server,
    )
    known = {name: variables for name, variables in environments.items() if variables}
    return msgspec.structs.replace(spec, remedied=Remedied(most=runs, left=left, environments=known))


def run(folder: Folder, listener: Listener) -> Trials:
    """Runs what is left of the trials in `folder`. Throws ReapError."""
    plan = folder.spec.remedied
    assert plan is not None  # noqa: S101 - the caller opened trials
    server = folder.spec.server
    starter = ServerStarter(folder, server) if server else None
    runner = Runner(folder, _Quiet(listener), starter)
    runner.begin()
    first = _first(folder, runner)
    base = arms.label(folder.spec, arms.arms(folder.spec)[0])
    left = plan.most - len(first) - 1
    final = analyse.finalists({name: size for name, size in first.items() if name != base}, left)
    for arm in arms.arms(folder.spec):
        name = arms.label(folder.spec, arm)
        if name not in (base, *final):
            runner.dropped.setdefault(arm.arm(), _BEHIND)
    rounds = analyse.rounds_of(len(final), left)
    for number in range(rounds):
        listener.progress(number, rounds, f"round {number + 1} of {', '.join(final)}")
        runner.one_round(number)
    listener.progress(rounds, rounds, "")
    dropped = {
        arms.label(folder.spec, arm): why
        for arm in arms.arms(folder.spec)
        if (why := runner.dropped.get(arm.arm(), _BEHIND)) != _BEHIND
    }
    notes = [*runner.notes, *(starter.notes if starter else [])]
    comparison = comparing.draw(folder.spec, folder.runs, dropped, notes)
    return _drawn(folder, comparison, first, base, final)


class _Quiet(Listener):
    """Shows the progress of the first runs alone: how often the program runs is told before them."""

    def __init__(self, listener: Listener) -> None:
        self.progress = listener.progress  # type: ignore[method-assign]


def _first(folder: Folder, runner: Runner) -> dict[str, float]:
    """Settled memory of the first run of each arm that is not given up."""
    return {
        arms.label(folder.spec, run.cell): float(run.outcome.settled_resident)
        for run in folder.runs
        if run.warmup and run.cell.arm() not in runner.dropped and run.outcome.settled_resident is not None
    }


def _drawn(
    folder: Folder, comparison: Comparison, first: dict[str, float], base: str, final: Sequence[str]
) -> Trials:
    spec, plan = folder.spec, folder.spec.remedied
    assert plan is not None  # noqa: S101 - as above
    metric = MEMORY[spec.objective]
    own = {each.name: each for each in spec.allocators}
    curves = {arms.label(spec, run.cell): run.outcome.resident_over_time for run in folder.runs if run.warmup}
    tried = []
    for side in comparison.sides:
        name = side.allocator
        ratio = side.ratios.get(metric) if name in final else None
        tried.append(
            Tried(
                change=_change(own[name], plan),
                rounds=side.rounds if ratio else 0,
                settled=ratio.value if ratio else first.get(name),
                ratio=ratio,
                cpu=analyse.first_of(side, analyse.CPU) if ratio else None,
                requests=analyse.first_of(side, analyse.REQUESTS) if ratio else None,
                problem=side.problem if name in final or name not in first else "",
                curve=curves.get(name, []),
                trim=_trim(own[name]),
            )
        )
    known = [_settled(run) for run in folder.runs if not run.warmup and _is_base(spec, run)]
    values = sorted(value for value in known if value is not None)
    return Trials(
        command=spec.program.command,
        baseline=values[len(values) // 2] if values else first[base],
        rounds=comparison.rounds,
        runs=len(folder.runs),
        tried=analyse.ranked(tried),
        not_tried=[NotTried(change=_known(name, plan), why=why) for name, why in plan.left.items()],
        notes=comparison.notes,
        curve=curves.get(base, []),
    )


def _is_base(spec: Spec, run: Run) -> bool:
    return run.cell.arm() == arms.arms(spec)[0].arm()


def _settled(run: Run) -> float | None:
    value = run.outcome.settled_resident
    return None if value is None else float(value)


def _known(name: str, plan: Remedied) -> Change:
    remedy = remedies.named(name)
    environment = plan.environments.get(name, remedy.environment)
    return Change(name=name, how=remedy.how, environment=environment, allocator=remedy.allocator)


def _change(arm: Allocator, plan: Remedied) -> Change:
    """As the arm has it: the words that the environment had are in it."""
    shown = {name: word for name, word in arm.environment.items() if name != RESIDENT_TRIM_ENV}
    known = _known(arm.name, plan)
    trim = _trim(arm)
    how = f"{known.how}; tried: every {units.duration(trim.every)}" if trim and trim.every else known.how
    return msgspec.structs.replace(known, environment=shown, how=how)


def _trim(arm: Allocator) -> Trim | None:
    first, _, every = arm.environment.get(RESIDENT_TRIM_ENV, "").partition(":")
    return Trim(first=int(first) / 1e6, every=int(every) / 1e6) if first else None


def _arm(
    remedy: KnownRemedy,
    variables: dict[str, str] | None,
    base: Allocator,
    program: Program,
    seconds: float,
    left: dict[str, str],
) -> Allocator | None:
    """The remedy as an arm; None where it cannot be one, with the reason in `left`."""
    if not remedy.can_be_tried:
        left[remedy.name] = "it is a change of the program or its configuration"
        return None
    if variables is None:
        left[remedy.name] = "too little of that memory was seen for a limit"
        return None
    if (remedy.trim and program.obstacle) or (remedy.allocator and not program.takes_allocators):
        left[remedy.name] = program.obstacle or "the program's own malloc cannot be replaced"
        return None
    found = catalog.look(remedy.allocator) if remedy.allocator else base
    if not isinstance(found, Allocator):
        left[remedy.name] = f"not installed: {found.install}"
        return None
    environment = settings.merged(variables, os.environ)
    if remedy.trim:
        environment[RESIDENT_TRIM_ENV] = _when(remedy.trim, seconds)
    return Allocator(
        name=remedy.name,
        library=found.library,
        environment=environment,
        preloads=[str(native_files.preload("resident"))] if remedy.trim else [],
        options=["--no-huge-pages"] if remedy.huge_pages == "off" else [],
        notes=found.notes,
    )


def _written(file: str) -> list[str]:
    """The variables of jemalloc that stand in the file as constants; none where it cannot be read."""
    try:
        with opened_regular(file) as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as constants:
            return sorted({name.decode() for name in _VARIABLE.findall(constants)})
    except (OSError, ValueError):
        return []


def _when(trim: str, seconds: float) -> str:
    """The first time and the interval, in microseconds: once when the second half of a run begins."""
    if trim == "once":
        return f"{round(seconds / 2 * 1e6)}:0"
    period = round(min(max(seconds / 10, _PERIODS[0]), _PERIODS[1]) * 1e6)
    return f"{period}:{period}"


def _runtimes(program: Program, residences: Sequence[Residence]) -> set[str]:
    """Runtimes of the program and of its processes, by their executables."""
    images = [program.image, *(f"/{Path(each.command[0]).name}" for each in residences)]
    found: set[str] = {kind for image in images if (kind := collectors.kind_of([image], []))}
    names = {Path(image).name for image in images}
    found |= {"ruby"} if any(name.startswith("ruby") for name in names) else set()
    found |= {"jvm"} if "java" in names else set()
    found |= {"redis"} if names & {"redis-server", "redis-check-rdb", "valkey-server"} else set()
    found |= {"php"} if any(name.startswith("php") for name in names) else set()
    return found | ({"go"} if _is_go(program.image) else set())


@functools.cache
def _is_go(image: str) -> bool:
    try:
        return elf.read(image, frozenset()).go
    except (OSError, elf.NotElfError):
        return False
