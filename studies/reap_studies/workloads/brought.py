"""Programs that users bring: which folder has which, as `--program NAME=FOLDER` says."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from reap.api import ExitCode, ReapError
from reap_studies.workloads import card
from reap_studies.workloads.records import Brought, Card

VARIABLE = "REAP_PROGRAMS"
"""Those that were given, as NAME=FOLDER, one a line: also for what this process starts."""


def take(given: Sequence[str]) -> list[str]:
    """Remembers these and returns them, with absolute folders. Throws ReapError if a file is missing."""
    found = [_taken(each) for each in given]
    if found:
        os.environ[VARIABLE] = "\n".join(found)
    return found


def newest(given: Sequence[str]) -> list[str]:
    """Of several folders for one name the last."""
    return list({each.partition("=")[0]: each for each in given}.values())


def _taken(given: str) -> str:
    name, equals, path = given.partition("=")
    if not equals or not path:
        raise ReapError(f"--program {given} names no folder", "give NAME=FOLDER", ExitCode.USAGE)
    wanted = card.load(name).brought
    if wanted is None:
        raise ReapError(
            f"the workload {name} is no program that you bring",
            f"leave --program {given} out",
            ExitCode.USAGE,
        )
    folder = Path(path).expanduser().absolute()
    if missing := [file for file in wanted.files if not (folder / file).exists()]:
        raise ReapError(
            f"{folder} does not have {', '.join(missing)}, which the workload {name} takes",
            f"build {wanted.version} of {wanted.home}",
            ExitCode.NOT_FOUND,
        )
    return f"{name}={folder}"


def lacking(described: Card) -> str:
    """Why the program is not there; empty if it is, or is none that users bring."""
    if described.brought is None or described.name in _given():
        return ""
    return f"you bring it: --program {described.name}=FOLDER ({_source(described.brought)})"


def folder(described: Card) -> str:
    """Where it is; empty if it is none that users bring. Throws ReapError if it was not given."""
    if described.brought is None:
        return ""
    if described.name not in _given():
        raise ReapError(
            f"the workload {described.name} is a program that you bring: {_source(described.brought)}",
            f"build it, and add --program {described.name}=FOLDER",
            ExitCode.NOT_FOUND,
        )
    return _given()[described.name]


def digest(described: Card) -> str:
    """Of the files that it takes, by which inputs made from others are told; empty where it was not given."""
    if described.brought is None or described.name not in _given():
        return ""
    files = [Path(_given()[described.name]) / file for file in described.brought.files]
    return hashlib.sha256(b"".join(hashlib.sha256(each.read_bytes()).digest() for each in files)).hexdigest()


def _given() -> dict[str, str]:
    lines = os.environ.get(VARIABLE, "").splitlines()
    return {name: path for name, _, path in (line.partition("=") for line in lines)}


def _source(wanted: Brought) -> str:
    return f"{wanted.version}, {wanted.home}"
