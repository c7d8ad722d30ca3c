"""Preloads made for the question what allocation costs: their names, and their reports.

Each takes one cost away, and none is for use. Some touch memory before the program needs it. The kernel
counts that with the program's own time, so that it is taken off the outcome.
"""

from pathlib import Path

import msgspec

from reap import native
from reap.base.errors import ReapError
from reap.base.files import native_name
from reap.launch.host import memory
from reap.launch.records import Ahead, Launch, Outcome

PREFIX = "price: "
FIRST = "recycle"
"""What every program is tried with first: it bounds what a change of malloc could give."""
BUMP = "bump"
"""What bounds it, too, of a program that allocates so little in all that memory lasts."""
CAUSES = ("placed", "cache", "arenas")
"""Those that tell causes apart, where something gained."""
_FILES = "libreap-price-"
"""How the files of these preloads begin."""
_SHARE = 4
"""A process may take so much less than what is available: other arms of a round run at the same time."""


def is_whole(name: str) -> bool:
    """Whether an arm of this name is a malloc that costs next to nothing, and not one cost less."""
    return name in {f"{PREFIX}{FIRST}", f"{PREFIX}{BUMP}"}


def is_price(name: str) -> bool:
    """Whether an arm of this name is one of them."""
    return name.startswith(PREFIX)


def prepare(launch: Launch, scratch: Path) -> Path | None:
    """Makes the file for one run; None for a launch without such a preload. Throws ReapError."""
    if not Path(launch.allocator).name.startswith(_FILES):
        return None
    path = scratch / "price"
    try:
        native.create_price(native_name(path))
    except OSError as error:
        raise ReapError(
            f"the report of {launch.allocator}, {path}, cannot be written: {error.strerror}",
            "set TMPDIR to a folder with room",
        ) from error
    return path


def variables(report: Path | None, launch: Launch) -> dict[str, str]:
    """Variables that the preload needs: its file, and the most memory that a process may take."""
    if report is None:
        return {}
    most = memory.available() // _SHARE
    given = launch.environment.get(native.PRICE_BYTES_ENV, "")
    if given.isdecimal():
        most = min(most, int(given))
    return {native.PRICE_ENV: str(report), native.PRICE_BYTES_ENV: str(most)}


def read(report: Path) -> list[Ahead] | None:
    """Reads what each process has spent so far, the first one first; None if the report is damaged."""
    try:
        slots = native.read_price(native_name(report))
    except (OSError, native.BadTraceError):  # the program took it away
        return None
    if slots is None:
        return None
    return [
        Ahead(
            cpu_ns=slot.touch_ns,
            free_ns=slot.free_ns,
            faults=slot.touch_faults,
            bytes=slot.touched,
            ended=slot.ended,
        )
        for slot in slots
    ]


def total(processes: list[Ahead]) -> Ahead:
    """All of them together."""
    return Ahead(
        cpu_ns=sum(each.cpu_ns for each in processes),
        free_ns=sum(each.free_ns for each in processes),
        faults=sum(each.faults for each in processes),
        bytes=sum(each.bytes for each in processes),
        ended=any(each.ended for each in processes),
    )


def net(gross: Outcome, report: Path) -> Outcome:
    """The outcome without what was spent on memory ahead of the program.

    CPU time is exact but for the kernel's freeing of that memory. Wall time is less by as much, divided by
    the number of cores that the run kept busy. The kernel counts a process only for a parent that waits for
    it: where more was spent than it counted, that of the first process alone is subtracted.
    """
    processes = read(report)
    if processes is None:
        return msgspec.structs.replace(gross, ahead=Ahead(overwritten=True))
    spent = total(processes)
    if not _counted(gross, spent):
        spent = msgspec.structs.replace(total(processes[:1]), ended=spent.ended, uncounted=len(processes) - 1)
    if not _counted(gross, spent):
        return msgspec.structs.replace(gross, ahead=Ahead(ended=spent.ended, overwritten=True))
    cpu_ns = min(spent.cpu_ns + spent.free_ns, gross.cpu_ns)
    system = min(cpu_ns, gross.system_ns)
    wall = cpu_ns * gross.wall_ns // max(gross.cpu_ns, gross.wall_ns, 1)
    return msgspec.structs.replace(
        gross,
        system_ns=gross.system_ns - system,
        user_ns=gross.user_ns - (cpu_ns - system),
        wall_ns=gross.wall_ns - wall,
        minor_faults=gross.minor_faults - spent.faults,
        ahead=spent,
    )


def _counted(gross: Outcome, spent: Ahead) -> bool:
    return spent.faults <= gross.minor_faults and spent.cpu_ns <= gross.cpu_ns
