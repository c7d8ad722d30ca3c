"""Runs a program with the sampling drag engine preloaded; every process of it leaves a file."""

from pathlib import Path

from msgspec.structs import replace

from reap.launch import native_files, spawn
from reap.launch.records import Launch, Outcome

FILES = "samples.*"
_PREFIX = "REAP_DRAG_SAMPLES"
_PERIOD = "REAP_DRAG_PERIOD"


def run(launch: Launch, folder: Path, *, period: int | None = None) -> Outcome:
    """Runs the program over the allocator that `launch` names; the files are in `folder`, which must exist.

    `period` is the mean of bytes between two samples; None chooses it so that the overhead is a few percent
    of run time. Throws what `spawn.run` throws.
    """
    environment = {**launch.environment, _PREFIX: str(folder.absolute() / "samples")}
    if period is not None:
        environment[_PERIOD] = str(period)
    preloads = [str(native_files.preload("drag-sample")), *launch.preloads]
    return spawn.run(replace(launch, preloads=preloads, environment=environment))
