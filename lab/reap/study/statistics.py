"""How a workload allocates: one recorded run of it, without its own allocator, for Table 3 (OOPSLA 2002)."""

import tempfile
from pathlib import Path

import msgspec

from reap.analysis.profile import profile
from reap.errors import ReapError
from reap.experiment import card
from reap.launch import program
from reap.launch.records import Launch
from reap.study.folder import write_whole
from reap.study.measuring import lacking, without_own
from reap.study.records import Statistics
from reap.trace import read, record


def take(place: Path, described: card.Card, scale: int) -> Statistics:
    """Records the variant without its own allocator once, over glibc, and keeps what it gave in `place`.

    What is kept is not recorded again. Whatever goes wrong is the reason why there are none, and is tried
    again the next time.
    """
    known = Statistics(card=described, scale=scale)
    try:
        kept = msgspec.json.decode(place.read_bytes(), type=Statistics)
    except (OSError, msgspec.MsgspecError):
        pass
    else:
        return kept
    if why := lacking(described.name):
        return msgspec.structs.replace(known, excluded=why)
    try:
        taken = _recorded(known)
        write_whole(place, msgspec.json.encode(taken) + b"\n")
    except ReapError as error:
        return msgspec.structs.replace(known, excluded=error.what)
    except OSError as error:
        raise ReapError(f"{place} cannot be written: {error.strerror}", "make room, and go on") from error
    return taken


def _recorded(known: Statistics) -> Statistics:
    described = known.card
    ready = card.prepare(described.name, without_own(described), scale=known.scale)
    found = program.resolve(ready.argv, directory=ready.directory)
    program.require_preloadable(found)
    launch = Launch(
        argv=found.command,
        program=found.path,
        directory=ready.directory,
        environment=ready.environment,
    )
    with tempfile.TemporaryDirectory(prefix="reap-statistics-") as folder:
        path = Path(folder) / "statistics.reap"
        outcome = record.record(launch, path, "triage")
        if outcome.status != 0:
            raise ReapError(f"{described.name} ended with {outcome.status} while it was recorded")
        drawn = profile(read.read(path), ready.argv)
    return msgspec.structs.replace(known, totals=drawn.totals, share=drawn.share)
