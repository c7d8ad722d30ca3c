"""A study's folder: its plan, written once; beside it, below it, what is measured for it."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from reap.errors import ExitCode, ReapError
from reap.study.records import Mode, Plan

_PLAN = "plan.json"


def begin(place: Path, plan: Plan) -> None:
    """Makes the study's folder. Throws ReapError if it exists."""
    try:
        place.mkdir(parents=True)
        write_whole(place / _PLAN, msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
    except FileExistsError:
        raise ReapError(
            f"{place} exists already",
            f"name another with --output, or go on with: reap study {plan.study} --resume {place}",
        ) from None
    except OSError as error:
        raise ReapError(f"{place} cannot be made: {error.strerror}", "name another with --output") from error


def resumed(place: Path, study: str) -> Plan:
    """The plan of a study of this name that was begun there. Throws ReapError."""
    try:
        plan = msgspec.json.decode((place / _PLAN).read_bytes(), type=Plan)
    except (OSError, msgspec.MsgspecError) as error:
        raise ReapError(
            f"{place} is no folder of a study: {error}",
            "give the folder that `reap study` made",
            ExitCode.USAGE,
        ) from error
    if plan.study != study:
        raise ReapError(
            f"{place} is of the study {plan.study}, and not of {study}",
            f"reap study {plan.study} --resume {place}",
            ExitCode.USAGE,
        )
    return plan


def make_plan(
    study: str, known: Sequence[str], mode: Mode, workloads: Sequence[str], allocators: Sequence[str]
) -> Plan:
    """A study of these workloads; all that it knows if none are named. Throws ReapError for another."""
    if strange := [name for name in workloads if name not in known]:
        raise ReapError(
            f"{', '.join(strange)} is no workload of this study",
            f"it has {', '.join(known)}",
            ExitCode.USAGE,
        )
    return Plan(study=study, mode=mode, workloads=list(workloads or known), allocators=list(allocators))


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file so that it is whole wherever it is. Throws OSError."""
    part = path.with_suffix(".part")
    part.write_bytes(data)
    part.replace(path)
