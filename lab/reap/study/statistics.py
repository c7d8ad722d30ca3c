"""How a workload allocates: one recorded run of it, without its own allocator, for Table 3 (OOPSLA 2002)."""

import tempfile
from pathlib import Path

import msgspec

from reap.analysis.profile import profile
from reap.errors import ReapError
from reap.experiment import card, workload
from reap.files import write_safely
from reap.study.measuring import lacking, version_of, without_own
from reap.study.records import Statistics
from reap.trace import read, record


def take(place: Path, described: card.Card, scale: int) -> Statistics:
    """Records the variant without its own allocator once, over glibc, and keeps what it gave in `place`.

    What is kept of the same card, version and scale is not recorded again, unless nothing was sampled.
    Whatever goes wrong is the reason why there are none, and is tried again the next time. Throws ReapError
    if it cannot be kept.
    """
    known = Statistics(card=described, version=version_of(described), scale=scale)
    kept = _kept(place)
    if kept is not None and kept.share is not None and _same(kept, known):
        return kept
    if why := lacking(described):
        return msgspec.structs.replace(known, excluded=why)
    try:
        taken = _recorded(known)
    except ReapError as error:
        return msgspec.structs.replace(known, excluded=error.what)
    write_safely(place, msgspec.json.encode(taken) + b"\n", force=True)
    return taken


def _kept(place: Path) -> Statistics | None:
    try:
        return msgspec.json.decode(place.read_bytes(), type=Statistics)
    except (OSError, msgspec.MsgspecError):
        return None


def _same(one: Statistics, other: Statistics) -> bool:
    return (one.card, one.version, one.scale) == (other.card, other.version, other.scale)


def _recorded(known: Statistics) -> Statistics:
    described = known.card
    ready = card.prepare(described.name, without_own(described), scale=known.scale)
    with tempfile.TemporaryDirectory(prefix="reap-statistics-") as folder:
        path = Path(folder) / "statistics.reap"
        outcome = record.record(workload.launch_of(ready), path, "triage")
        if outcome.status != 0:
            raise ReapError(f"{described.name} ended with {outcome.status} while it was recorded")
        drawn = profile(read.read(path), ready.argv)
    return msgspec.structs.replace(known, totals=drawn.totals, share=drawn.share)
