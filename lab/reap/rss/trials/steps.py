"""Steps of `reap rss --try`: the trials in a folder, with their progress on a terminal."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from reap.allocators.records import Allocator
from reap.base import units
from reap.base.files import opened_regular
from reap.commandline import experiments
from reap.commandline.progress import Bar
from reap.experiment.folder import Folder
from reap.experiment.once import service_alone
from reap.launch.program import Program
from reap.launch.records import Launch
from reap.rss.records import Residence
from reap.rss.trials import run as trying
from reap.rss.trials.judge import winner
from reap.rss.trials.records import Trials
from reap.server.records import Server
from reap.server.serve import loaded_once

_CHUNK = 1 << 20


def measured(
    program: Program,
    base: Allocator,
    residences: Sequence[Residence],
    path: Path,
    *,
    budget: float | None,
    timeout: float | None,
    stdin: str,
    force: bool,
    server: Server | None = None,
) -> tuple[Trials, Allocator | None]:
    """Tries remedies on a program that was observed once; `stdin` is the file of its input, or empty.

    A `server` is started and loaded once more, to know what a run takes. Returns what came of it, and the arm
    of the remedy that gives most where the budget has time for one run more. Throws ReapError.
    """
    seconds = (
        _one_start(server, program, base, timeout)
        if server is not None
        else max(each.moments[-1].seconds for each in residences)
    )
    spec = trying.specify_trials(
        program, base, residences, seconds, budget=budget, timeout=timeout, stdin=bool(stdin), server=server
    )
    most = spec.remedied.most if spec.remedied else 0
    number = len(spec.allocators) - 1
    click.echo(
        f"{program.command[0]} runs up to {units.whole(most)} times more, about {units.about(most * seconds)}"
        f": {number} remedies once, then those that give most in paired rounds",
        err=True,
    )
    with Folder.create(path, spec, _chunks(stdin) if stdin else None, force=force) as folder:
        trials = _run(folder)
    best = winner(trials)
    if best is None or (budget is not None and trials.runs >= most):
        return trials, None
    return trials, next(each for each in spec.allocators if each.name == best.change.name)


def _one_start(server: Server, program: Program, base: Allocator, timeout: float | None) -> float:
    """Seconds from the start of a server to its end, with all loads: as one load tells, at most."""
    launch = Launch(
        argv=program.command,
        program=program.path,
        directory=str(Path.cwd()),
        allocator=base.library,
        environment=base.environment,
    )
    once = loaded_once(service_alone(server, launch, timeout)).wall_ns / 1e9
    return once * (server.warm_ups + server.each_start)


def resumed(path: Path, command: Sequence[str]) -> Trials:
    """Goes on with the trials in a folder. Throws ReapError."""
    with experiments.reopened("rss", path, list(command), set()) as folder:
        return _run(folder)


def _run(folder: Folder) -> Trials:
    with Bar() as bar:
        return trying.run(folder, experiments.Terminal(bar))


def _chunks(file: str) -> Iterator[bytes]:
    with opened_regular(file) as opened:
        while chunk := opened.read(_CHUNK):
            yield chunk
