"""Runs a program on a heap that was fragmented first, and takes that off the clock."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from reap import native
from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.launch import native_files, spawn
from reap.launch.host import memory
from reap.launch.litter import file as litter_file
from reap.launch.litter.records import Event, Litter, Littered
from reap.launch.records import Launch, Outcome

VARIABLE = native.LITTER_ENV
"""By which a process finds the litter file."""

_SPARE = 0.9
"""The share of the available memory that a litter may take."""


def require_memory(litter: Litter) -> None:
    """Throws ReapError, with the sum, if the litter would not fit into the memory of this machine."""
    free = memory.available()
    if litter.needed <= free * _SPARE:
        return
    objects = litter.objects
    raise ReapError(
        f"{litter.level.name} needs about {units.size(litter.needed)}, and {units.size(free)} of memory are "
        f"available here (of which it may take {units.percent(_SPARE)})\n"
        f"  the sum: {litter.level.multiplier:g} x {units.whole(litter.peak)} live objects = "
        f"{units.whole(objects)} objects of about {units.size(litter.needed / objects)} with bookkeeping",
        "choose a lower level, or give the program a smaller input",
        ExitCode.FAILED,
    )


def run(launch: Launch, litter: Litter, *, image: str = "", event: Event | None = None) -> Littered:
    """Runs the program with its heap littered before anything of it runs. Throws what `spawn.run` throws.

    `image` is the ELF file that is meant, where others (`env` in the first line of a script) are executed on
    the way to it; without it what is executed first is littered. The outcome's `events` are those of `event`,
    where the machine counts it. Throws ReapError if the litter would not fit
    into memory, or cannot be described.
    """
    with prepared(launch, litter, image=image, event=event) as (littered, net):
        return net(spawn.run(littered))


@contextlib.contextmanager
def prepared(
    launch: Launch, litter: Litter, *, image: str = "", event: Event | None = None
) -> Iterator[tuple[Launch, Callable[[Outcome], Littered]]]:
    """The program as it is started so, and what takes the litter off its outcome; with what `run` is given.

    Both are good within.
    """
    require_memory(litter)
    # As long a path every time: its length would shift the program's stack.
    with tempfile.TemporaryDirectory(prefix="reap-litter-") as folder:
        file = Path(folder) / "litter"
        place = litter_file.write(file, litter, image, event, over_glibc=not launch.allocator)
        littered = msgspec.structs.replace(
            launch,
            preloads=[str(native_files.preload("fragment")), *launch.preloads],
            environment={**launch.environment, VARIABLE: str(file)},
            options=[*launch.options, *(["--count", f"{event.type}:{event.config}"] if event else [])],
        )
        yield littered, lambda gross: litter_file.read(file, place, gross)
