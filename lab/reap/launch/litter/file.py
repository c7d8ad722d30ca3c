"""The litter file: written before the program starts, and read when it has ended."""

from pathlib import Path

from reap import native
from reap.base import units
from reap.base.errors import ReapError
from reap.base.files import native_name
from reap.launch.litter import account
from reap.launch.litter.records import ORDERS, Event, Litter, Littered, Littering
from reap.launch.records import Outcome

_FAILURES = {
    native.LITTER_REFUSED: "the machine has not the memory",
    native.LITTER_NO_BOOKKEEPING: "no memory for the list of blocks",
    native.LITTER_NO_MEMORY: "malloc returned null",
}


def write(file: Path, litter: Litter, image: str, event: Event | None, *, over_glibc: bool) -> int:
    """Writes the litter file and returns where its slots begin. Throws ReapError."""
    sizes = sorted(litter.sizes)
    total = sum(count for _, count in sizes)
    if litter.objects and not sizes:
        raise ReapError("there are no sizes to litter with", "take a profile of a program that allocates")
    if len(sizes) > native.LITTER_MOST_SIZES or max(total, litter.objects) > native.LITTER_MOST_COUNT:
        raise ReapError(
            f"{units.whole(len(sizes))} sizes of {units.whole(max(total, litter.objects))} objects are more "
            "than a litter file can describe",
            "choose a lower level, or a profile with a lower cut-off",
        )
    meant = Path(image).stat() if image else None
    try:
        return native.write_litter(
            native_name(file),
            sizes,
            objects=litter.objects,
            kept=litter.level.kept(litter.peak),
            seed=litter.seed % 2**64,
            needed_bytes=litter.needed,
            order=ORDERS.index(litter.order),
            touch=litter.touch,
            children=litter.children,
            threads=max(litter.threads, 1),
            device=meant.st_dev if meant else 0,
            inode=meant.st_ino if meant else 0,
            event=(event.type, event.config) if event else None,
            over_glibc=over_glibc,
        )
    except OSError as error:
        raise ReapError(
            f"the litter file {file} cannot be written: {error.strerror}", "set TMPDIR to a folder with room"
        ) from error


def read(file: Path, place: int, gross: Outcome) -> Littered:
    """Reads the slots, which begin at `place`, if nobody else wrote there."""
    try:
        said = native.read_litter(native_name(file), place)
    except (OSError, native.BadTraceError):  # the program took it away
        return Littered(outcome=gross, gross=gross, litterings=[], overwritten=True)
    if said.overwritten:
        return Littered(outcome=gross, gross=gross, litterings=[], overwritten=True)
    litterings = [_littering(report) for report in said.reports]
    outcome, uncounted = account.net(gross, litterings)
    return Littered(
        outcome=outcome,
        gross=gross,
        litterings=litterings,
        lost=said.lost,
        deepbind=said.deepbind,
        uncounted=uncounted,
    )


def _littering(report: native.LitterReport) -> Littering:
    failure = (
        "the process ended while it littered"
        if report.state == native.LITTER_BEGUN
        else _FAILURES.get(report.failure, "")
    )
    names = (name for name in Littering.__struct_fields__ if name != "failure")
    return Littering(**{name: getattr(report, name) for name in names}, failure=failure)
