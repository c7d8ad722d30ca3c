"""Map of a program's blocks on a littered heap: one more run, recorded in full."""

import tempfile
from pathlib import Path

import msgspec

from reap import native
from reap.base.errors import ExitCode, ReapError
from reap.base.files import native_name
from reap.base.records import Record
from reap.launch import native_files
from reap.launch.litter import run as littering
from reap.launch.litter.records import Litter
from reap.launch.records import Launch
from reap.recording import record

PAGE = 4096
CELLS = 2048
"""Stretches of pages that a map has at most."""


class HeapCell(Record):
    """Some neighbouring pages of those that were ever used."""

    litter: int
    """Bytes of the litter that stays."""
    program: int
    """Bytes of the program's blocks."""
    pages: int


class HeapMap(Record):
    """The heap at the moment when the program had most blocks in use. Bytes are those asked for."""

    cells: list[HeapCell]
    """By address, without what lies between used pages."""
    pages: int
    """On which some block, of the litter or of the program, has been."""
    program_pages: int
    """On which some block of the program lay."""
    litter_pages: int
    litter_bytes: int
    program_bytes: int
    program_objects: int
    allocations: int
    """Of the program, all of them."""
    runs: int
    """Runs of blocks in which each block of a thread lies right behind the one before it."""
    longest_run: int

    @property
    def density(self) -> float:
        """Share of the program's pages that its own blocks fill, 0 to 1."""
        return self.program_bytes / (self.program_pages * PAGE) if self.program_pages else 0.0

    @property
    def fill(self) -> float:
        """Share of all used pages that is in use, 0 to 1."""
        return (self.program_bytes + self.litter_bytes) / (self.pages * PAGE) if self.pages else 0.0

    @property
    def mean_run(self) -> float:
        """Blocks in a row, on average."""
        return self.allocations / self.runs if self.runs else 0.0


def take(launch: Launch, litter: Litter, *, image: str = "") -> HeapMap:
    """Runs the program once more, its output discarded, and returns where its blocks lay.

    Of several processes it is the first that was littered. Throws ReapError if the program does not end in
    time or nothing was littered, and what `litter.run` throws.
    """
    with tempfile.TemporaryDirectory(prefix="reap-map-") as folder:
        path = Path(folder) / "map.reap"
        # Stamps in nanoseconds of the clock that the litterings report by, and of every event: they tell the
        # program's from the litter's, which end one behind the other.
        native.create_trace(
            native_name(path), native.FULL, native.MONOTONIC_NS, native.SAMPLER_NONE, 0, stamp_all=True
        )
        recorded = msgspec.structs.replace(
            launch,
            capture=True,
            preloads=[*launch.preloads, str(native_files.preload("record"))],
            environment={**launch.environment, native.TRACE_ENV: str(path)},
        )
        littered = littering.run(recorded, litter, image=image)
        record.finish(path, names=False)
        if littered.outcome.timed_out:
            raise ReapError(
                f"{launch.argv[0]} did not end in time while its heap was mapped",
                "give it more --timeout, a smaller input, or leave out --map",
                ExitCode.TIMED_OUT,
            )
        if not littered.litterings:
            raise ReapError(
                "there is no heap to map: the program did not load what is preloaded", "leave out --map"
            )
        pid = littered.litterings[0].pid
        windows = [(each.begin_ns, each.end_ns) for each in littered.litterings if each.pid == pid]
        seen = native.heap_map(native_name(path), pid, windows, CELLS)
    return msgspec.convert(seen, HeapMap, from_attributes=True)
