"""How much the setups of the study of general-purpose allocators do in a run, as time allows."""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from reap.api import Listener, ReapError, decode, spawn, write_safely
from reap_studies.study import measuring
from reap_studies.study.allocators.setups import EVALUATIONS, PROGRAM, Setup
from reap_studies.study.measuring import ROUNDS
from reap_studies.study.records import Mode
from reap_studies.workloads import card, preparation, run

QUICK_SECONDS = 360.0
"""What the runs of a quick study take together."""
LOCALITY_SHARE = 0.45
"""Of that for a thousand evaluations in Table 2; those with fewer take a tenth of it."""
SCALING_SHARE = 0.06
"""Of that for each number of threads in Table 3."""
APPLICATION_RUN: dict[Mode, float] = {"quick": 0.3, "full": 1.0}
"""About how many seconds a run of an application takes."""
_SCALES = "scales.json"
_TABLE_2 = "evaluations"
"""How the names of its setups begin."""
_TRIED = 6000
"""Scale times evaluations, for a look at how fast a machine is: a second or so."""


def scales(
    place: Path, setups: Sequence[Setup], allocators: int, mode: Mode, listener: Listener
) -> dict[str, int]:
    """How much each does in a run: found once, and kept, so that all rounds do the same."""
    file = place / _SCALES
    try:
        known = decode(file.read_bytes(), dict[str, int])
    except (OSError, msgspec.MsgspecError):
        known = {}
    if all(each.name in known for each in setups):
        return known
    rounds = (ROUNDS[mode] + 1) * (allocators + 1)
    cores = len(os.sched_getaffinity(0))
    for each in setups:
        described = card.load(each.workload)
        if each.workload != PROGRAM:
            known[each.name] = measuring.scale_of(described, mode, APPLICATION_RUN[mode])
            continue
        if mode == "full" or measuring.lacking(described):
            known[each.name] = described.default_scale
            continue
        # All of a table have the same to do: of Table 2 as much as there is time for with most evaluations.
        table_2 = each.name.startswith(_TABLE_2)
        # Threads do not save as much time as there are of them: three quarters of it.
        together = 1 + 0.75 * (min(each.threads, cores) - 1) if table_2 else 1
        share = LOCALITY_SHARE * together if table_2 else SCALING_SHARE
        try:
            fitting = share * _fitting(max(EVALUATIONS) if table_2 else each.evaluations, listener)
        except ReapError:
            fitting = 0  # measuring it will say why
        wanted = round(fitting * QUICK_SECONDS / rounds)
        known[each.name] = max(described.quick_scale, min(wanted, described.default_scale))
    write_safely(file, msgspec.json.encode(known) + b"\n", force=True)
    return known


@cache
def _fitting(evaluations: int, listener: Listener) -> float:
    """How much of its scale the program does in a second on one core, with so many evaluations over glibc."""
    listener.say(f"how fast this machine is with {evaluations} evaluations")
    scale = max(1, _TRIED // evaluations)
    ready = preparation.prepare(PROGRAM, scale=scale)
    launch = run.launch_of(ready)
    launch = msgspec.structs.replace(launch, argv=[*launch.argv, "--evaluations", str(evaluations)])
    outcome = spawn.run(launch)
    if outcome.status != 0:
        raise ReapError(f"{PROGRAM} ended with {outcome.status}", outcome.stderr_tail.strip())
    return scale * 1e9 / outcome.wall_ns
