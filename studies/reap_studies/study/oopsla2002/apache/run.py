"""Section 7.5 of OOPSLA 2002 reproduced: bc as a module of Apache httpd, over pools made of reaps.

WORKLOAD's module says itself what a request took. Each way is run a few times, on a server of its own: how
many objects are made and freed is counted and always the same, resident memory is the kernel's.
"""

from pathlib import Path

import msgspec

from reap.api import Launch, Outcome, ReapError, decode, exactly, program, spawn, statistics, units
from reap_studies.study import claims, kept, measuring
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.records import Apache, Conclusion, Finding, Pooled
from reap_studies.workloads import card, preparation

WORKLOAD = "mod-bc"
ROUNDS = 5
PATIENCE = 60.0
"""Seconds for one request, which takes a fraction of one."""
WAYS = {
    "APR's own pools": ("custom", "memory"),
    "reaps, nothing freed": ("reap", "memory&keep"),
    "reaps, with ap_pfree": ("reap", "memory"),
    "malloc, with ap_pfree": ("naive", "memory"),
}
"""Which variant, and what its module is asked for."""
KEPT, FREED = "reaps, nothing freed", "reaps, with ap_pfree"


class _Took(msgspec.Struct):
    """What the module says of a request."""

    pool: int
    resident: int
    objects: int
    asked: int
    freed: int


def take(place: Path) -> Apache:
    """Has the server compute what the card says, each way, unless `place` has what came of it.

    Throws ReapError of a full disk; whatever else goes wrong is the reason why there is nothing, and is tried
    again the next time.
    """
    described = card.load(WORKLOAD)
    version = measuring.version_of(described)
    known = Apache(card=described, version=version, scale=described.default_scale)
    return kept.once(place, known, _measured)


def _measured(known: Apache) -> Apache:
    # One round after another, each way in each.
    rounds = [{way: _asked(*asked) for way, asked in WAYS.items()} for _ in range(ROUNDS)]
    answers = {outcome.stdout_digest for each in rounds for outcome, _ in each.values()}
    if len(answers) != 1:
        raise ReapError(f"{WORKLOAD}: not all ways computed the same", f"reap workloads run {WORKLOAD}")
    built = Path(preparation.places(WORKLOAD).built)
    try:
        lines = decode((built / "lines.json").read_bytes(), dict[str, int])
    except (OSError, msgspec.MsgspecError) as error:
        raise ReapError(f"{built / 'lines.json'} cannot be read: {error}", f"remove {built}") from error
    return msgspec.structs.replace(
        known,
        pooled=[_pooled(way, [each[way] for each in rounds]) for way in WAYS],
        lines=lines["lines"],
        memory_lines=lines["memory"],
        other_lines=lines["other"],
    )


def _asked(variant: str, query: str) -> tuple[Outcome, _Took]:
    ready = preparation.prepare(WORKLOAD, variant)
    found = program.resolve(ready.argv, directory=ready.directory)
    outcome = spawn.run(
        Launch(
            argv=[*found.command, query],
            program=found.path,
            directory=ready.directory,
            environment=ready.environment,
            timeout=PATIENCE,
        )
    )
    if outcome.timed_out or outcome.status != 0:
        late = f"did not end in {units.about(PATIENCE)}"
        why = late if outcome.timed_out else f"ended with {outcome.status}"
        raise ReapError(f"{WORKLOAD}, {variant}: httpd {why}", outcome.stderr_tail.strip())
    try:
        return outcome, decode(outcome.stderr_tail, _Took)
    except msgspec.MsgspecError as error:
        said = outcome.stderr_tail.strip()
        raise ReapError(f"{WORKLOAD}, {variant}: the module did not say what it took", said) from error


def _pooled(way: str, rounds: list[tuple[Outcome, _Took]]) -> Pooled:
    took = rounds[0][1]
    return Pooled(
        way=way,
        objects=took.objects,
        asked=took.asked,
        freed=took.freed,
        held=took.pool,
        resident=[each.resident for _, each in rounds],
        peak_resident=[outcome.peak_resident for outcome, _ in rounds],
    )


def judge(apache: Apache | None) -> list[Conclusion]:
    """What section 7.5 says."""
    sound = apache is not None and bool(apache.pooled)
    return claims.of("oopsla2002").judge(
        {
            "pool-memory-saved": lambda it: _saved(apache, it.judged) if apache and sound else [],
            "module-changes": lambda it: _changed(apache, it.judged) if apache and sound else [],
        }
    )


def _saved(apache: Apache, judged: Judged) -> list[Finding]:
    of = {each.way: each for each in apache.pooled}
    whole, freed = of[KEPT], of[FREED]
    pairs = [more / less for more, less in zip(whole.peak_resident, freed.peak_resident, strict=True)]
    ratios = [
        ("bytes that the pool holds", exactly(whole.held / freed.held)),
        ("peak memory of the server", statistics.interval(pairs)),
    ]
    return [Finding(workload=WORKLOAD, figure=name, ratio=each, side=judged(each)) for name, each in ratios]


def _changed(apache: Apache, judged: Judged) -> list[Finding]:
    shares = [("malloc and free", apache.memory_lines), ("files and exit", apache.other_lines)]
    found: list[Finding] = []
    for name, lines in shares:
        ratio = exactly(lines / apache.lines)
        found.append(Finding(workload=WORKLOAD, figure=f"lines of {name}", ratio=ratio, side=judged(ratio)))
    return found
