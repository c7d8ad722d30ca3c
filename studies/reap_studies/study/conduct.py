"""What the verbs of `reap study` have in common: beginning and going on, the files, the next step."""

from __future__ import annotations  # what is imported late stands in annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from reap.api import ExitCode, ReapError, unused
from reap.api import option_groups as groups
from reap.api import sweep_places as elsewhere

if TYPE_CHECKING:
    from reap.api import Allocator, Listener
    from reap_studies.study.pacing import Place
    from reap_studies.study.records import Mode, Plan, Study

_FOLDER = click.Path(path_type=Path, file_okay=False)
FULL_ROUNDS = (6, 30)
"""The fewest and the most of a full study: `measuring` and `budget` have them, which take long to load."""


class Studying(Protocol):
    """A study, as its module is one."""

    NAME: str
    ALLOCATORS: tuple[str, ...]

    def plan(self, mode: Mode, workloads: list[str], allocators: list[str]) -> Plan:
        """What is to be measured. Throws ReapError."""
        ...

    def run(self, place: Path, plan: Plan, allocators: list[Allocator], listener: Listener) -> Study:
        """Measures what is left of it. Throws InterruptedRunError."""
        ...


class Spreading(Studying, Protocol):
    """A study whose rounds may run on other machines."""

    def run(
        self,
        place: Path,
        plan: Plan,
        allocators: list[Allocator],
        listener: Listener,
        elsewhere: Place | None = None,
    ) -> Study:
        """The same; with `elsewhere`, its rounds there."""
        ...


def options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The options of each study."""
    given = (
        click.option("--quick", is_flag=True, help="In under 15 minutes; less work, few rounds."),
        click.option("--full", is_flag=True, help="Until intervals are narrow; takes hours."),
        groups.names("-w", "--workloads", help="Only these"),
        click.option(
            "--allocator",
            "added",
            multiple=True,
            metavar="NAME[=FILE]",
            help="One more, by its name or its .so file; may be given again.",
        ),
        click.option(
            "-o", "--output", type=_FOLDER, help="Output folder (default: a new reap-runs/STUDY-TIME)."
        ),
        click.option("--resume", type=_FOLDER, help="Resume the study in this folder."),
    )
    for option in reversed(given):
        verb = option(verb)
    return verb


def spread_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Those of a study that goes on until intervals are narrow, on other machines if so asked."""
    rounds = click.option(
        "--rounds",
        type=click.IntRange(*FULL_ROUNDS),
        help="At most so many rounds of each experiment of a full study (default: 30).",
    )
    return options(rounds(program_option(elsewhere.option(verb))))


def program_option(verb: Callable[..., Any]) -> Callable[..., Any]:
    """What takes the programs that users bring."""
    return click.option(
        "--program",
        "programs",
        multiple=True,
        metavar="NAME=FOLDER",
        help="Where the program of workload NAME is, which you bring; may be given again.",
    )(verb)


def conduct(
    studying: Studying,
    *,
    quick: bool,
    full: bool,
    workloads: str | None,
    output: Path | None,
    resume: Path | None,
    added: Sequence[str],
    rounds: int | None = None,
    programs: Sequence[str] = (),
    start: Callable[[Path, Plan, list[Allocator], Listener], Study] | None = None,
    require: Callable[[Mode], None] = lambda _mode: None,
) -> int:
    """Begins the study or goes on with it, and writes its page and its data. Throws ReapError.

    `added` are allocators beside the study's own, as `catalog.parse` has them. `rounds` is the most of a full
    study, also where it goes on. `start` runs it if not the study itself does, where that `require`s nothing
    else of its mode.
    """
    from msgspec import structs
    from rich.console import Console

    from reap.api import InterruptedRunError, reporting
    from reap.api import ProgressBar as Bar
    from reap.api import TerminalListener as Terminal
    from reap_studies.study import folder
    from reap_studies.study import page as reporter
    from reap_studies.workloads import brought

    name = studying.NAME
    _unset_allocators()
    if quick + full + (resume is not None) != 1:
        raise ReapError(
            "a study is begun, quickly or in full, or it is resumed",
            f"give one of them: reap study {name} --quick, --full, or --resume FOLDER",
            ExitCode.USAGE,
        )
    if quick:
        require("quick")
    if resume is not None:
        if workloads is not None or output or added:
            others = ", --allocator" if added else ""
            raise ReapError(
                "--resume goes on with the study as it began; it takes neither "
                f"--workloads{others} nor --output",
                f"reap study {name} --resume {resume}",
                ExitCode.USAGE,
            )
        place, plan, allocators = _resumed(studying, resume)
        plan = structs.replace(plan, programs=brought.take(brought.newest([*plan.programs, *programs])))
        if rounds is not None:
            plan = structs.replace(plan, rounds=rounds)
    else:
        mode: Mode = "quick" if quick else "full"
        place, plan, allocators = _begun(
            studying, mode, workloads, output, added, rounds, brought.take(programs)
        )
    require(plan.mode)
    with folder.alone(place):
        try:
            with Bar() as bar:
                result = (start or studying.run)(place, plan, allocators, Terminal(bar))
        except InterruptedRunError as stopped:
            again = f"go on with: reap study {name} --resume {place}"
            raise InterruptedRunError("stopped; all runs that ended are kept", again, stopped.code) from None
        written = reporter.write(result, place)
    reporter.render(Console(), result)
    drawings = [path for path in written if path.suffix == ".svg"]
    for path in [path for path in written if path not in drawings]:
        reporting.say_written("written", path)
    reporting.say_written(f"written, {len(drawings)} drawings beside them", place)
    reporting.say_next(["xdg-open", str(place / reporter.PAGE)])
    return ExitCode.OK


def spread(studying: Spreading, given: dict[str, Any]) -> int:
    """Conducts a study with what click gives of `spread_options`. Throws ReapError."""
    places = elsewhere.Places.taken(given, dask_on_cores=False)
    of_full = [*(["--on"] if places.on else []), *(["--rounds"] if given["rounds"] is not None else [])]

    def require(mode: Mode) -> None:
        if mode == "quick" and of_full:
            raise ReapError(
                f"{of_full[0]} is for full studies: a quick one does what this machine can in its time",
                "give --full, or leave it out",
                ExitCode.USAGE,
            )

    def start(place: Path, plan: Plan, allocators: list[Allocator], listener: Listener) -> Study:
        from reap_studies.study.cores import Cores
        from reap_studies.study.elsewhere import Elsewhere

        there: Place = Cores(places.local, listener) if places.local else Elsewhere(place, places, listener)
        return studying.run(place, plan, allocators, listener, there)

    return conduct(studying, start=start if places.on else None, require=require, **given)


def _unset_allocators() -> None:
    """What is measured over an allocator is measured over no other, and over each as it comes."""
    from reap.api import knobs

    for each in knobs.variables(os.environ):
        click.echo(f"without {each}={os.environ.pop(each)}, which sets allocators", err=True)


def _resumed(studying: Studying, resume: Path) -> tuple[Path, Plan, list[Allocator]]:
    from reap.api import catalog
    from reap_studies.study import folder

    plan = folder.resumed(resume, studying.NAME)
    own = [name for name in plan.allocators if name not in _names(plan.added)]
    return resume.absolute(), plan, catalog.parse(",".join([*own, *plan.added]))


def _names(added: Sequence[str]) -> list[str]:
    """What those of NAME or NAME=FILE are called."""
    return [each.partition("=")[0].strip() for each in added]


def _begun(
    studying: Studying,
    mode: Mode,
    workloads: str | None,
    output: Path | None,
    added: Sequence[str],
    rounds: int | None,
    programs: list[str],
) -> tuple[Path, Plan, list[Allocator]]:
    import msgspec

    from reap.api import Allocator, catalog
    from reap_studies.study import folder

    more = catalog.parse(",".join(added))
    found = [catalog.find(name) for name in studying.ALLOCATORS if name not in _names(added)]
    allocators = [each for each in found if isinstance(each, Allocator)]
    missing = [each for each in found if not isinstance(each, Allocator)]
    allocators += more
    plan = studying.plan(mode, _named(workloads), [each.name for each in allocators])
    plan = msgspec.structs.replace(plan, added=[_absolute(each) for each in added], programs=programs)
    if rounds is not None:
        plan = msgspec.structs.replace(plan, rounds=rounds)
    place = (output or unused(studying.NAME)).absolute()
    folder.begin(place, plan)
    if missing:
        click.echo(f"left out: {', '.join(each.name for each in missing)}", err=True)
        click.echo(f"  to have them: {catalog.install_command(missing)}", err=True)
    click.echo(f"in {place}; to go on after a stop: reap study {studying.NAME} --resume {place}", err=True)
    return place, plan, allocators


def _absolute(added: str) -> str:
    """The same from every folder."""
    name, given, path = added.partition("=")
    return f"{name}={Path(path).absolute()}" if given else added


def _named(workloads: str | None) -> list[str]:
    """Those of the option; none if it was not given."""
    names = [name.strip() for name in (workloads or "").split(",") if name.strip()]
    if workloads is not None and not names:
        raise ReapError(
            "--workloads names none",
            "name some, as in --workloads chart-parser,rapidjson; without it the study is of all",
            ExitCode.USAGE,
        )
    return names
