"""What a search for an allocator's settings is: which settings this version and this machine have."""

import os
from collections.abc import Sequence
from typing import TypedDict, Unpack

from reap.allocators import knobs
from reap.allocators.knobs import Milder, Objective, Setting
from reap.allocators.records import Allocator
from reap.errors import ExitCode, ReapError
from reap.experiment.spec import Option, Spec, Tune, specify
from reap.experiment.tune_plan import LEAST_RUNS
from reap.launch import machine
from reap.launch import program as programs

USUAL: tuple[Objective, ...] = ("cpu", "memory")
"""What is to be less when no one says otherwise."""
USUAL_RUNS = 29
"""Enough to see a gain of some per cent in a program that does the same each time."""


class Given(TypedDict, total=False):
    """What `spec.specify` is told as it stands."""

    directory: str
    prepare: str
    cleanup: str
    timeout: float | None
    stdin: bool


def specify_search(
    command: list[str],
    allocator: Allocator,
    objectives: Sequence[Objective] = USUAL,
    runs: int = USUAL_RUNS,
    **given: Unpack[Given],
) -> Spec:
    """What a search of an allocator's settings is to be.

    Throws what `spec.specify` throws, and ReapError where no setting that is known could win.
    """
    program = programs.resolve(command, directory=given.get("directory", ""))
    programs.require_preloadable(program)
    search = _search(allocator, program.loader, objectives or USUAL, runs)
    return specify(command, [allocator], baseline=allocator.name, tune=search, **given)


def _search(allocator: Allocator, loader: str, objectives: Sequence[Objective], most: int) -> Tune:
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
        option, why = _option(allocator, setting, loader)
        if option is None:
            notes.append(f"{setting.name}: {why}")
        elif set(setting.may) & set(objectives):
            options.append(option)
    if not options:
        raise ReapError(
            f"{allocator.name} has no setting that could win here: {'; '.join(notes) or 'none for this'}",
            "name another objective with --for, or another allocator with --allocator",
            ExitCode.USAGE,
        )
    return Tune(
        objectives=list(dict.fromkeys(objectives)),
        options=options,
        most=most,
        held=family.held(dict(os.environ)),
        notes=notes,
    )


def _option(allocator: Allocator, setting: Setting, loader: str) -> tuple[Option | None, str]:
    if setting.needs == "huge pages" and machine.describe().huge_pages != "madvise":
        return None, "this kernel gives huge pages to all or to none, whatever is asked"
    words, unknown = knobs.known_form(allocator, setting, loader=loader)
    if words is None:
        return None, f"the installed {allocator.name} does not know {unknown}"
    milder = [_milder(allocator, each, setting, loader) for each in setting.milder]
    return (
        Option(
            name=setting.name,
            about=setting.about,
            words=words,
            may=setting.may,
            sign=setting.sign,
            milder=[each for each in milder if each],
        ),
        "",
    )


def _milder(allocator: Allocator, milder: Milder, setting: Setting, loader: str) -> Option | None:
    words, _ = knobs.known_form(allocator, milder, loader=loader)
    if words is None:
        return None
    return Option(name=milder.name, about=milder.about, words=words, may=setting.may)
