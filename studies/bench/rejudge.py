"""Judge studies that were measured before by today's rules: nothing runs.

    .venv/bin/python studies/bench/rejudge.py FOLDER ...

FOLDER has `study.json`, as a study leaves it or a release's results have it. What today's cards say of the
same programs (their kind, what excludes them) takes the place of what the cards said then, and FOLDER's page,
JSON, CSV and drawings are written again. Then keep.py writes what the repository keeps.
"""

import sys
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from keep import JUDGES, read

from reap.base.errors import ReapError
from reap_studies.study import page
from reap_studies.study.records import Study
from reap_studies.workloads import card
from reap_studies.workloads.records import Card

SAID = ("kind", "partial", "control", "microbenchmark", "chunks_from", "frees", "origin")
"""What judges look at."""
Described = TypeVar("Described", bound=msgspec.Struct)


def _today(then: Card) -> Card:
    """The card with what today's says of the program; as it is where there is none."""
    try:
        now = card.load(then.name)
    except ReapError:
        return then
    return msgspec.structs.replace(then, **{name: getattr(now, name) for name in SAID})


def _each(records: list[Described]) -> list[Described]:
    found: list[Any] = records
    return [msgspec.structs.replace(each, card=_today(each.card)) for each in found]


def rejudged(study: Study) -> Study:
    """The study, judged by today's rules."""
    names = ("measured", "occupancy", "simulated", "statistics", "memory", "drag")
    fields = {name: _each(getattr(study, name)) for name in names}
    peers = [
        msgspec.structs.replace(each, measured=own)
        for each, own in zip(study.peers, _each([each.measured for each in study.peers]), strict=True)
    ]
    if (name := study.plan.study) not in JUDGES:
        sys.exit(f"a study of {name} has no verdicts to judge; those of {', '.join(JUDGES)} have")
    return JUDGES[name](msgspec.structs.replace(study, **fields, peers=peers))


def main() -> None:
    """Judge the study of each folder."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for folder in map(Path, sys.argv[1:]):
        page.write(rejudged(read(folder)), folder)


if __name__ == "__main__":
    main()
