"""A study's folder: its plan, written once; beside it, below it, what is measured for it.

It is private, as an experiment's folder is.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from reap.api import ExitCode, ReapError, decode, did_you_mean, write_safely
from reap_studies.study.records import Mode, Plan

_PLAN = "plan.json"


def begin(place: Path, plan: Plan) -> None:
    """Makes the study's folder. Throws ReapError if it exists."""
    try:
        place.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise ReapError(
            f"{place} exists already",
            f"name another with --output, or go on with: reap study {plan.study} --resume {place}",
        ) from None
    except OSError as error:
        raise ReapError(f"{place} cannot be made: {error.strerror}", "name another with --output") from error
    write_safely(place / _PLAN, msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")


@contextlib.contextmanager
def alone(place: Path) -> Iterator[None]:
    """While it is open no other process can go on with the study. Throws ReapError if one does."""
    lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ReapError(
                f"another reap goes on with the study in {place}",
                "wait until it has ended, or stop it and repeat",
            ) from None
        yield
    finally:
        os.close(lock)


def resumed(place: Path, study: str) -> Plan:
    """The plan of a study of this name that was begun there. Throws ReapError."""
    try:
        plan = decode((place / _PLAN).read_bytes(), Plan)
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
    study: str,
    known: Sequence[str],
    mode: Mode,
    workloads: Sequence[str],
    allocators: Sequence[str],
    more: Sequence[str] = (),
) -> Plan:
    """A study of these workloads, each once; of all that it knows if none are named.

    `more` are the user's own, which are run if they are named. Throws ReapError for another.
    """
    if strange := list(dict.fromkeys(name for name in workloads if name not in (*known, *more))):
        be = "is no workload" if len(strange) == 1 else "are no workloads"
        raise ReapError(
            f"{', '.join(strange)} {be} of this study",
            f"{did_you_mean(strange[0], [*known, *more])}it has {', '.join([*known, *more])}",
            ExitCode.USAGE,
        )
    return Plan(
        study=study,
        mode=mode,
        workloads=list(dict.fromkeys(workloads or known)),
        allocators=list(allocators),
        named=bool(workloads),
    )
