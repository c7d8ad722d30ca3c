"""A published study of OOPSLA 2002 with some of its workloads measured again, whose programs have changed.

    .venv/bin/reap study oopsla2002 --full --rounds 12 --workloads lcc,mudlle -o AGAIN
    .venv/bin/python studies/bench/again.py reap-results/oopsla2002 AGAIN

What the study in AGAIN has of its workloads takes the place of what was published of them; then all
conclusions are judged again, and everything is written where it was. parts.jsonl says which these are.
Then keep.py writes what the repository keeps.
"""

import json
import sys
from pathlib import Path

import msgspec

from reap_studies.study import page
from reap_studies.study.oopsla2002 import run
from reap_studies.study.records import Study

OF_A_WORKLOAD = ("measured", "statistics", "memory", "drag")


def replaced(published: Study, again: Study) -> Study:
    """The same with what `again` has of its workloads, each in its place."""
    fields = {}
    for name in OF_A_WORKLOAD:
        newer = {each.card.name: each for each in getattr(again, name)}
        fields[name] = [newer.get(each.card.name, each) for each in getattr(published, name)]
    peers = {each.measured.card.name: each for each in again.peers}
    fields["peers"] = [peers.get(each.measured.card.name, each) for each in published.peers]
    whole = msgspec.structs.replace(published, **fields, created=again.created, machine=again.machine)
    return run.judged(whole)


def main() -> None:
    """Replaces the study that was published."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    place, other = map(Path, sys.argv[1:])
    published, again = (
        msgspec.json.decode((folder / page.DATA).read_bytes(), type=Study) for folder in (place, other)
    )
    whole = replaced(published, again)
    page.write(whole, place)
    with (place / "parts.jsonl").open("a") as file:
        file.write(json.dumps({"at": again.created, "again": again.plan.workloads}) + "\n")


if __name__ == "__main__":
    main()
