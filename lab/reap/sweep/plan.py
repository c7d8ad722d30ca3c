"""Reads a plan and makes the cells of it; refuses what could not be run, before anything is."""

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

import reap
from reap.allocators import catalog
from reap.base.errors import ExitCode, ReapError
from reap.base.files import digest_of
from reap.base.text import did_you_mean
from reap.launch.litter import level
from reap.sweep.records import Kind, Plan, Program, Setting, Sweep, SweepCell

SCHEMA = 1
"""Raised when a field changes its meaning."""

_TABLES: dict[str, type[msgspec.Struct]] = {"programs": Program, "settings": Setting, "machines": Kind}
_PLAIN = Setting(name="")


def read(path: Path) -> Plan:
    """The plan of a file. Throws ReapError, with a suggestion for a key that is misspelled."""
    try:
        found = tomllib.loads(path.read_text())
    except OSError as error:
        raise ReapError(f"{path} cannot be read: {error.strerror}", "name a plan", ExitCode.USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise _wrong(path, f"is not TOML: {error}", "docs/sweep.md has an example") from error
    _require_known(path, "", found, Plan)
    for name, kind in _TABLES.items():
        tables = found.get(name, [])
        for number, table in enumerate(tables if isinstance(tables, list) else [], 1):
            if isinstance(table, dict):
                _require_known(path, f" in number {number} of [[{name}]]", table, kind)
    try:
        plan = msgspec.convert(found, Plan)
    except msgspec.ValidationError as error:
        raise _wrong(path, f"is no plan: {error}", "docs/sweep.md says what each key takes") from error
    _require_sound(path, plan)
    return plan


def sweep(plan: Plan, directory: Path) -> Sweep:
    """Sweep of a plan with the files beside it as they are now. Throws ReapError."""
    cells = [
        _cell(plan, program, setting, directory)
        for program, setting in itertools.product(plan.programs, plan.settings or [_PLAIN])
    ]
    return Sweep(
        schema=SCHEMA,
        reap_version=reap.__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        directory=str(directory.absolute()),
        machines=plan.machines,
        cells=cells,
    )


def name_of(program: Program) -> str:
    """Name of a program in the results."""
    return program.name or program.card or Path(program.command[0]).name


def _cell(plan: Plan, program: Program, setting: Setting, directory: Path) -> SweepCell:
    name = name_of(program)
    libraries = [word.partition("=")[2] for word in plan.allocators if "=" in word]
    files = [*program.files, *(each for each in libraries if not each.startswith("/"))]
    return SweepCell(
        name=f"{name}, {setting.name}" if setting.name else name,
        program=program,
        environment={**program.environment, **setting.environment},
        allocators=plan.allocators,
        levels=plan.levels,
        warm_ups=plan.warm_ups,
        rounds=plan.rounds,
        timeout=plan.timeout,
        worth=plan.worth / 100,
        seed=plan.seed,
        files={each: _digest(directory, each, name) for each in files},
    )


def _digest(directory: Path, name: str, program: str) -> str:
    try:
        return digest_of(directory / name)
    except OSError as error:
        raise ReapError(
            f"the file {name} of {program} cannot be read: {error.strerror}",
            f"names in a plan are relative to its folder, {directory}",
            ExitCode.USAGE,
        ) from error


def _require_known(path: Path, where: str, table: Mapping[str, Any], kind: type[msgspec.Struct]) -> None:
    known = kind.__struct_fields__
    for key in table:
        if key not in known:
            hint = f"{did_you_mean(key, known)}the keys there are {', '.join(known)}"
            raise _wrong(path, f"has an unknown key '{key}'{where}", hint)


def _require_sound(path: Path, plan: Plan) -> None:
    for number, program in enumerate(plan.programs, 1):
        if bool(program.command) == bool(program.card):
            what = f"number {number} of [[programs]] needs either command or card"
            raise _wrong(path, f"is no plan: {what}", 'as in command = ["./prog", "input"]')
        for name in program.files:
            if Path(name).is_absolute() or ".." in Path(name).parts:
                what = f"the file {name} of {name_of(program)} is not inside the plan's folder"
                raise _wrong(path, f"is no plan: {what}", "copy it there, or leave it out of files")
    if len(plan.allocators) == 1:
        raise _wrong(path, "compares nothing: it has one allocator", 'as in ["glibc", "jemalloc"]')
    names = [word.partition("=")[0] for word in plan.allocators]
    _require_unique(path, "allocators", names)
    known = catalog.names()
    for word in plan.allocators:
        if "=" not in word and word not in known:
            hint = f"{did_you_mean(word, known)}known are {', '.join(known)}; any other as NAME=FILE"
            raise _wrong(path, f"names an unknown allocator '{word}'", hint)
    _require_unique(path, "programs", [name_of(each) for each in plan.programs])
    _require_unique(path, "settings", [each.name for each in plan.settings])
    _require_unique(path, "machines", [each.name for each in plan.machines])
    if plan.levels:
        try:
            level.parse(",".join(plan.levels))
        except ReapError as error:
            raise _wrong(path, f"is no plan: {error.what}", error.hint) from error


def _require_unique(path: Path, what: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise _wrong(path, f"names {name} twice in {what}", "give each a name of its own")


def _wrong(path: Path, what: str, hint: str) -> ReapError:
    return ReapError(f"{path} {what}", hint, ExitCode.USAGE)
