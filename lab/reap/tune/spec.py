"""Specification of a search for an allocator's settings: those that this version and this machine have."""

import os
import re
from collections.abc import Sequence

from reap.allocators import knobs
from reap.allocators.knobs import Milder, Objective, Setting
from reap.allocators.records import Allocator
from reap.base.errors import ExitCode, ReapError
from reap.experiment.spec import Option, Spec, Tune, Variant
from reap.experiment.specify import USUAL as CONDITIONS
from reap.experiment.specify import Conditions, specify
from reap.launch import program as programs
from reap.launch.host import machine
from reap.launch.program import Program
from reap.server.records import Server
from reap.tune import numa
from reap.tune.plan import LEAST_RUNS

USUAL: tuple[Objective, ...] = ("cpu", "memory")
"""What is to be less when no one says otherwise, beside the tail of a program that marks its requests."""
USUAL_RUNS = 36
"""Enough to see a gain of some per cent in a program that does the same each time."""


def specify_search(
    command: list[str],
    allocator: Allocator,
    objectives: Sequence[Objective] = (),
    runs: int = USUAL_RUNS,
    *,
    conditions: Conditions = CONDITIONS,
    server: Server | None = None,
) -> Spec:
    """Specifies a search of an allocator's settings; with `server`, of a server under load.

    Without `objectives` they are the usual. Throws what `specify` throws, and ReapError where no setting
    that is known could win.
    """
    program = programs.resolve(command)
    programs.require_preloadable(program)
    search = _search(allocator, program, objectives, runs)
    return specify(
        command,
        [allocator],
        baseline=allocator.name,
        tune=search,
        conditions=conditions,
        server=server,
    )


def _search(allocator: Allocator, program: Program, objectives: Sequence[Objective], most: int) -> Tune:
    named, objectives = objectives, objectives or USUAL
    family = knobs.family(allocator)
    if family is None:
        raise ReapError(
            f"no settings of {allocator.name} are known",
            f"known are those of {', '.join(knobs.families())}: name one of them with --allocator",
            ExitCode.USAGE,
        )
    if most < LEAST_RUNS:
        raise ReapError(
            f"{most} runs are too few to search in",
            f"give at least {LEAST_RUNS}: --runs {LEAST_RUNS}",
            ExitCode.USAGE,
        )
    options: list[Option] = []
    notes: list[str] = []
    for setting in family.setting:
        option, why = _option(allocator, setting, program.loader)
        if option is None:
            notes.append(f"{setting.name}: {why}")
        elif set(option.may) & set(objectives):
            options.append(option)
    variants, bound, missing = _bindings(program.command, objectives)
    options += bound
    notes += missing
    if not options:
        raise ReapError(
            f"{allocator.name} has no setting that could win here: {'; '.join(notes) or 'none for this'}",
            "name another objective with --for, or another allocator with --allocator",
            ExitCode.USAGE,
        )
    return Tune(
        objectives=list(dict.fromkeys(objectives)),
        usual=not named,
        options=options,
        most=most,
        held=family.held(dict(os.environ)),
        variants=variants,
        notes=notes,
    )


def _bindings(
    command: list[str], objectives: Sequence[Objective]
) -> tuple[list[Variant], list[Option], list[str]]:
    """The program placed on nodes of memory, if there is more than one, and what is missing for it."""
    wanted = [each for each in knobs.bindings() if set(each.may) & set(objectives)]
    if numa.nodes() == 1 or not wanted:
        return [], [], []
    if numa.tool() is None:
        names = " and ".join(each.name for each in wanted)
        return [], [], [f"{names}: numactl is not installed (sudo apt-get install {numa.PACKAGE})"]
    variants = [
        Variant(
            name=each.name,
            program=programs.resolve(["numactl", *each.words, *command]),
        )
        for each in wanted
    ]
    options = [Option(name=each.name, about=each.about, variant=each.name, may=each.may) for each in wanted]
    return variants, options, []


def _option(allocator: Allocator, setting: Setting, loader: str) -> tuple[Option | None, str]:
    if why := _lacks(setting.needs):
        return None, why
    words, unknown = knobs.known_form(allocator, setting, loader=loader)
    if words is None:
        return None, f"the installed {allocator.name} does not know {unknown}"
    milder = [_milder(allocator, each, setting, loader) for each in setting.milder]
    return (
        Option(
            name=setting.name,
            about=setting.about,
            words=words,
            may=knobs.may(setting.may),
            sign=setting.sign,
            needs=setting.needs,
            milder=[each for each in milder if each],
        ),
        "",
    )


def _lacks(needs: str) -> str:
    """Reason why a setting does nothing on this machine; empty if it does something."""
    here = machine.describe()
    if needs == "huge pages" and here.huge_pages != "madvise":
        return "this kernel gives huge pages to all or to none, whatever is asked"
    library, _, version = needs.partition(" ")
    if library == "glibc" and _numbers(here.libc) < _numbers(version):
        return f"it requires {needs} or later; this is {here.libc}"
    return ""


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _milder(allocator: Allocator, milder: Milder, setting: Setting, loader: str) -> Option | None:
    words, _ = knobs.known_form(allocator, milder, loader=loader)
    if words is None:
        return None
    return Option(name=milder.name, about=milder.about, words=words, may=knobs.may(setting.may))
