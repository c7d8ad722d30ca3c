"""What a workload asks the system for: one run for each arm under a tracer, beside those that are measured.

Which arms: its own allocator, and this library's Region in its place, over the baseline; malloc in its place
over every allocator.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reap.api import Allocator, Launch, ReapError, program, syscalls
from reap_studies.study import kept
from reap_studies.study.high_water import high_water
from reap_studies.study.measuring import lacking, version_of, without_own
from reap_studies.study.records import Mark, Memory
from reap_studies.workloads import preparation
from reap_studies.workloads.records import Card


def take(place: Path, described: Card, scale: int, allocators: Sequence[Allocator]) -> Memory:
    """Runs every arm once, and keeps what it asked for in `place`.

    What is kept is not run again. What goes wrong is the reason why there is no more, and is tried again the
    next time.
    """
    wanted = Memory(card=described, version=version_of(described), scale=scale)
    known = kept.read(place, wanted) or wanted
    if why := lacking(described):
        return msgspec.structs.replace(known, excluded=why)
    for variant, allocator in _arms(described, allocators):
        if known.mark(variant, allocator.name) is not None:
            continue
        try:
            asked = _asked(described, scale, variant, allocator)
        except ReapError as error:
            return msgspec.structs.replace(known, excluded=error.what)
        mark = Mark(variant=variant, allocator=allocator.name, asked=asked)
        known = msgspec.structs.replace(known, marks=[*known.marks, mark])
        kept.write(place, known)
    return known


def _arms(described: Card, allocators: Sequence[Allocator]) -> list[tuple[str, Allocator]]:
    plain = without_own(described)
    first = [(name, allocators[0]) for name in described.variants if name != plain]
    return [*first, *((plain, each) for each in allocators)]


def _asked(described: Card, scale: int, variant: str, allocator: Allocator) -> int:
    ready = preparation.prepare(described.name, variant, scale=scale)
    found = program.resolve(ready.argv, directory=ready.directory)
    program.require_preloadable(found)
    launch = Launch(
        argv=found.command,
        program=found.path,
        directory=ready.directory,
        environment=ready.environment,
        allocator=allocator.library,
    )
    with syscalls.traced(launch) as (outcome, lines):
        if outcome.status != 0:
            raise ReapError(
                f"{described.name}, {variant} over {allocator.name}, ended with {outcome.status} under strace"
            )
        return high_water(lines, os.sysconf("SC_PAGE_SIZE"))
