"""Cost of a block and of a page on this machine: measured once, then kept in the user's cache."""

import os
import platform
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import msgspec

import reap
from reap.base import files
from reap.base.errors import ReapError
from reap.base.records import Record, decode
from reap.launch import native_files, spawn
from reap.launch.host import machine
from reap.launch.records import Calibration, Launch

_PATIENCE = 20.0
"""Seconds of wall time; half a second of CPU time is what it takes."""

_CHANGES_MALLOC = ("LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES")
"""Variables under which another malloc would be measured, beside MALLOC_*."""


class Calibrated(Record):
    """The figures to use."""

    costs: Calibration
    note: str = ""
    """What a reader must know: why they were not measured, or not kept; else empty."""
    kept: str = ""
    """The file that has them, empty where there is none."""


class _Kept(Record):
    """The file's content: figures, and of what machine."""

    processor: str
    kernel: str
    libc: str
    reap: str
    costs: Calibration


def here(say: Callable[[str], None] = lambda _: None) -> Calibrated:
    """The figures of this machine: those that are kept, or measured now, which takes half a second.

    Kept ones are those of the same processor, kernel, C library and version of Reap; a file that is damaged
    or of another machine is replaced. Where they cannot be measured these are the defaults. Throws nothing.
    """
    described = machine.describe()
    key = _Kept(
        processor=described.processor,
        kernel=described.kernel,
        libc=described.libc,
        reap=reap.__version__,
        costs=Calibration(),
    )
    path = file()
    known = _read(path, key)
    if known is not None:
        return Calibrated(costs=known, kept=str(path))
    say("measuring what a block and a page cost on this machine (once)")
    try:
        costs = measure()
    except ReapError as error:
        return Calibrated(
            costs=Calibration(),
            note="what a block and a page fault cost on this machine could not be measured "
            f"({error.what}); the verdict compares with the defaults, which are of another machine",
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write_safely(path, msgspec.json.encode(msgspec.structs.replace(key, costs=costs)), force=True)
    except (OSError, ReapError) as error:
        why = error.what if isinstance(error, ReapError) else f"{error.filename}: {error.strerror}"
        return Calibrated(
            costs=costs,
            note=f"what a block costs on this machine was not kept, so each run measures it again: {why}",
        )
    return Calibrated(costs=costs, kept=str(path))


def file() -> Path:
    """File with the figures of this machine; homes that machines share have a file for each."""
    return files.cache_folder() / f"calibration-{quote(platform.node(), safe='')[:100]}.json"


def measure() -> Calibration:
    """Runs the program that measures. Throws ReapError where it cannot be run, or says what cannot be."""
    program = str(native_files.calibrator())
    removed = [name for name in os.environ if name in _CHANGES_MALLOC or name.startswith("MALLOC_")]
    outcome = spawn.run(Launch(argv=[program], program=program, remove=removed, timeout=_PATIENCE))
    if outcome.timed_out:
        raise ReapError(f"{program} did not end within {_PATIENCE:g} s")
    if outcome.status != 0:
        raise ReapError(f"{program} failed with {outcome.status}: {outcome.stderr_tail.strip()}")
    try:
        found = decode(outcome.stderr_tail, Calibration)
    except msgspec.DecodeError as error:
        raise ReapError(f"{program} wrote no figures: {error}") from error
    # On a machine where the cache holds 100 blocks, or in noise, their order may be another.
    usual = max(found.usual_pair, 0.0)
    found = msgspec.structs.replace(
        found,
        fast_pair=min(found.fast_pair, usual),
        past_pair=max(found.past_pair, usual),
        measured=True,
    )
    if not found.plausible:
        raise ReapError(f"{program} measured what cannot be: {outcome.stderr_tail.strip()}")
    return found


def _read(path: Path, key: _Kept) -> Calibration | None:
    try:
        known = files.read_back(path, _Kept, "") if path.is_file() else None
    except (OSError, ReapError):
        return None
    if known is None or not (known.costs.plausible and known.costs.measured):
        return None
    return known.costs if msgspec.structs.replace(known, costs=key.costs) == key else None
