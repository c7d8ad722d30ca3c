"""How a workload allocates: one recorded run of it, without its own allocator, for Table 3 (OOPSLA 2002)."""

import tempfile
from pathlib import Path

import msgspec

from reap.api import ReapError
from reap.api import recording_profile as profile
from reap.api import recording_read as read
from reap.api import recording_record as record
from reap_studies.study import kept
from reap_studies.study.measuring import version_of, without_own
from reap_studies.study.records import Statistics
from reap_studies.workloads import preparation, run
from reap_studies.workloads.records import Card


def take(place: Path, described: Card, scale: int) -> Statistics:
    """Records the variant without its own allocator once, over glibc, and keeps what it gave in `place`.

    What is kept of the same card, version and scale is not recorded again, unless nothing was sampled.
    Whatever goes wrong is the reason why there are none, and is tried again the next time. Throws ReapError
    if it cannot be kept.
    """
    known = Statistics(card=described, version=version_of(described), scale=scale)
    return kept.once(place, known, _recorded, lambda found: found.share is not None)


def _recorded(known: Statistics) -> Statistics:
    described = known.card
    ready = preparation.prepare(described.name, without_own(described), scale=known.scale)
    with tempfile.TemporaryDirectory(prefix="reap-statistics-") as folder:
        path = Path(folder) / "statistics.reap"
        outcome = record.record(run.launch_of(ready), path, "triage")
        if outcome.status != 0:
            raise ReapError(f"{described.name} ended with {outcome.status} while it was recorded")
        drawn = profile(read.read(path), ready.argv)
    return msgspec.structs.replace(known, totals=drawn.totals, share=drawn.share)
