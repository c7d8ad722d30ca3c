"""Pairing of the arms of a round: at the same time on one core, in turns on all, or one after another.

Simultaneous runs have several times narrower intervals of CPU time (see `launch.together`). But copies of a
command may meet on its files, all must fit into memory at once, and a program of many threads does not run on
one core as it runs on several: it takes turns (see `launch.slices`). The pairing is settled once, before the
first round, and kept in the experiment's folder, so that all of its rounds are paired alike.
"""

import math
import os
import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from reap.base import units
from reap.base.errors import ReapError
from reap.base.files import read_back, write_safely
from reap.experiment import footprint, naming, private
from reap.experiment.folder import Folder
from reap.experiment.once import not_twice, prepared
from reap.experiment.records import Cell, Pairing, Run
from reap.experiment.spec import Spec
from reap.launch import freezer
from reap.launch.host import memory
from reap.launch.records import Launch, Outcome

FILE = "pairing.json"
_SHARE = 0.7
"""Of the memory that is available: what the programs of a round may take together."""
_SEVERAL_CORES = 1.1
"""CPU seconds per second of wall time from which on a program uses several cores."""
_ENOUGH_TURNS = 0.3
"""Seconds of wall time in which a program has several turns."""
_STRACED = 20
"""How many times as long as the warm-up a run under strace may take, beside `_PATIENCE`."""
_PATIENCE = 5.0
"""Seconds."""
_NAMED = 2
"""Reasons that are named; there may be hundreds of files."""


def settle(
    folder: Folder, copies: int, launches: Callable[[], list[Launch]], say: Callable[[str], None]
) -> Pairing:
    """Settles the pairing of the experiment's rounds after the warm-ups, and keeps it. Throws ReapError.

    `copies` is how many runs a round has. `launches` are the commands of the arms; each may be run up to two
    times more, under strace.
    """
    file = folder.path / FILE
    found = read_back(file, Pairing, f"remove it, and it is found out again: rm {file}")
    if found is None:
        found = _found_out(folder, copies, launches, say)
        write_safely(file, msgspec.json.encode(found) + b"\n", force=True)
    return found


def groups(cells: Sequence[Cell], found: Pairing) -> list[list[Cell]]:
    """The runs of a round that are started at once: all, or those of neighbouring allocators."""
    if found.groups == 1:
        return [list(cells)]
    order = {each.allocator: place for place, each in reversed(list(enumerate(cells)))}
    by_allocator = sorted(cells, key=lambda each: order[each.allocator])
    ends = [len(cells) * number // found.groups for number in range(found.groups + 1)]
    return [by_allocator[begin:end] for begin, end in pairwise(ends) if begin < end]


def core(number: int, seed: int) -> int:
    """The core of a round: any that this process may use, by the experiment's seed."""
    return random.Random(f"{seed}/{number}/core").choice(sorted(os.sched_getaffinity(0)))  # noqa: S311 - no secret


def _found_out(
    folder: Folder, copies: int, launches: Callable[[], list[Launch]], say: Callable[[str], None]
) -> Pairing:
    spec, warm_ups = folder.spec, _warm_ups(folder)
    if spec.pairing == "simultaneous" or spec.pairing == "sequential":
        return Pairing(method=spec.pairing)
    if reason := _of_spec(spec) or _of_warm_ups(warm_ups):
        return Pairing(reason=reason)
    why = _several(warm_ups)
    if reason := _of_memory(warm_ups, copies, in_groups=spec.pairing == "sliced" and spec.server is None):
        return Pairing(reason=reason)
    if reason := _of_length(spec, why, warm_ups):
        return Pairing(reason=reason)
    if spec.server is not None:
        say("checking whether two of the server run side by side")
        reason = next(filter(None, (not_twice(folder, each) for each in launches())), "")
        return Pairing(reason=reason) if reason else _together(spec, why)
    say("checking with strace whether copies of it can run side by side")
    try:
        seconds = _PATIENCE + _STRACED * folder.runs[0].outcome.wall_ns / 1e9
        own = [
            msgspec.structs.replace(launch, timeout=min(seconds, spec.timeout or math.inf))
            for launch in launches()
        ]
        seen = [footprint.watch(launch, lambda name: prepared(spec, name)) for launch in own]
    except ReapError as error:
        return Pairing(reason=f"whether copies of the program would meet is not known: {error.what}")
    why = why or ("the program makes threads" if any(each.threads for each in seen) else "")
    found = _together(spec, why)
    reason = _of_length(spec, why, warm_ups)
    reason = reason or next(filter(None, (_of_footprint(each, found) for each in seen)), "")
    if reason:
        return Pairing(reason=reason)
    if found.method == "sliced":
        found = msgspec.structs.replace(found, groups=_groups(warm_ups, copies))
    if not any(each.shares for each in seen):
        return _restarting(spec, own, seen, found)
    if spec.fragment is not None:  # which reads what a run reports beside its files
        return Pairing(reason=_meets(seen))
    say("copies would write the same files: trying a private copy-on-write view for each")
    return _restarting(spec, own, seen, _in_private(folder, copies, own, seen, found))


def _together(spec: Spec, why: str) -> Pairing:
    """At the same time on one core; or in turns where that is asked for, or one core would not do."""
    if spec.pairing != "sliced" and not why:
        return Pairing(method="simultaneous")
    return Pairing(
        method="sliced",
        reason="" if spec.pairing == "sliced" else why,
        turns="freezer" if freezer.here() else "signals",
    )


def _restarting(
    spec: Spec, launches: Sequence[Launch], seen: Sequence[footprint.Footprint], found: Pairing
) -> Pairing:
    """Enables restarts in a pairing if a run may be killed at any time and leaves nothing behind."""
    words = (word for each in launches for word in [*each.argv, *each.environment.values()])
    if spec.fragment is not None or spec.prepare or spec.cleanup or any(naming.ARM in word for word in words):
        return found
    folders = found.private.folders if found.private else []
    restarts = found.method == "simultaneous" and private.holds(folders, [p for e in seen for p in e.leaves])
    return msgspec.structs.replace(found, restarts=restarts)


def _in_private(
    folder: Folder,
    copies: int,
    launches: Sequence[Launch],
    seen: Sequence[footprint.Footprint],
    found: Pairing,
) -> Pairing:
    """Gives each run of a pairing a view of its own of the folders in which copies would meet."""
    met = _meets(seen)
    view = private.plan(seen)
    if isinstance(view, str):
        return Pairing(reason=f"{met}, and no private view can be had: {view}")
    warm_ups = _warm_ups(folder)
    outputs = {run.outcome.stdout_digest for run in warm_ups}
    for launch, watched in zip(launches, seen, strict=True):
        with prepared(folder.spec):
            outcome = private.tried(launch, view, watched, outputs)
        if isinstance(outcome, str):
            return Pairing(reason=f"{met}, and a private view of its files does not work: {outcome}")
        if reason := _of_memory(warm_ups, copies, outcome.written_bytes or 0):
            return Pairing(reason=reason)
    return msgspec.structs.replace(found, private=view)


def _several(warm_ups: Sequence[Run]) -> str:
    """Clause on the number of cores that the program uses; empty if it is one."""
    most = max(_busy(run.outcome) for run in warm_ups)
    return f"the program uses {most:.1f} cores at once" if most > _SEVERAL_CORES else ""


def _of_length(spec: Spec, why: str, warm_ups: Sequence[Run]) -> str:
    """Reason against turns, or empty: the program ends before it has had enough of them."""
    if spec.server is not None or spec.pairing == "sliced" or not why:
        return ""
    short = warm_ups[0].outcome.wall_ns < _ENOUGH_TURNS * 1e9
    return f"{why}, and ends too soon to take turns" if short else ""


def _busy(outcome: Outcome) -> float:
    return outcome.cpu_ns / max(outcome.wall_ns, 1)


def _warm_ups(folder: Folder) -> list[Run]:
    return [run for run in folder.runs if run.warmup]


def _of_spec(spec: Spec) -> str:
    if any(command and naming.ARM not in command for command in (spec.prepare, spec.cleanup)):
        return "--prepare and --cleanup without {arm} are for one run at a time"
    if spec.server is not None and not spec.server.has_port:
        return "{port} is not in both --server and --load, so that servers would meet on a port"
    if spec.tune is not None and "tail" in spec.tune.objectives:
        return "the times of requests are compared"
    if spec.tune is not None and spec.tune.variants:
        return "numactl places the program on cores of its own"
    littered = spec.fragment is not None and any(level.multiplier for level in spec.fragment.levels)
    if littered and spec.pairing != "sliced":
        # Measured: 1.60 times the CPU time at adv3 one after another, 1.23 times at the same time.
        return "what a heap's layout costs is cache misses, and runs at the same time share the caches"
    return ""


def _of_warm_ups(warm_ups: Sequence[Run]) -> str:
    base = warm_ups[0].outcome
    if base.requests is not None and base.requests.count:
        return "the program marks requests, whose times are compared"
    if any(each.latency for each in base.loads):
        return "the load makes requests at a fixed rate, whose latency is compared"
    return ""


def _of_memory(warm_ups: Sequence[Run], copies: int, files: int = 0, *, in_groups: bool = False) -> str:
    """Reason why a round, or with `in_groups` even two of its runs, does not fit in memory; or empty."""
    needed = 2 * max(_peaks(warm_ups)) if in_groups else _needed(warm_ups, copies) + copies * files
    if needed > _SHARE * memory.available():
        which = "two" if in_groups else "all"
        return f"{which} copies at once take {units.size(needed)} of memory"
    return ""


def _groups(warm_ups: Sequence[Run], copies: int) -> int:
    """Number of groups that a round needs for each to fit, with one run that is larger than its share."""
    limit = max(_SHARE * memory.available() - max(_peaks(warm_ups)), 1)
    return min(math.ceil(_needed(warm_ups, copies) / limit), copies // 2)


def _needed(warm_ups: Sequence[Run], copies: int) -> int:
    """Bytes at the peaks of all runs of a round, which has the baseline twice."""
    peaks = _peaks(warm_ups)
    return sum(peaks) + max(copies - len(peaks), 0) * peaks[0]


def _peaks(warm_ups: Sequence[Run]) -> list[int]:
    """Of each arm; the baseline's is the first."""
    peaks: dict[str, int] = {}
    for run in warm_ups:
        arm = run.cell.arm()
        peaks[arm] = max(peaks.get(arm, 0), run.outcome.peak_resident)
    return list(peaks.values())


def _of_footprint(seen: footprint.Footprint, found: Pairing) -> str:
    """Reason against pairing that private views of files would not remove, or empty."""
    if found.turns == "signals" and seen.job_control:
        return "the program waits for children that stop, and would see the turns"
    return _meets([seen]) if any(each not in seen.changed for each in seen.shares) else ""


def _meets(seen: Sequence[footprint.Footprint]) -> str:
    shares = list(dict.fromkeys(share for each in seen for share in each.shares))
    more = len(shares) - _NAMED
    named = ", ".join(shares[:_NAMED])
    return f"copies of the program would meet: it {named}{f', and {more} more' if more > 0 else ''}"
