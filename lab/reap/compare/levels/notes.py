"""Limits of the figures of a program on fragmented heaps, a sentence each. Pure functions."""

import os
from collections.abc import Sequence
from pathlib import Path

from reap.base import units
from reap.compare.levels.records import Arm
from reap.compare.levels.table import Table
from reap.experiment import arms
from reap.experiment.spec import COUNTERS, Fragment
from reap.fragment import run as fragment
from reap.recording.analyse.size_profile import SizeProfile


def notes(table: Table, drawn: Sequence[Arm], profile: SizeProfile, plan: Fragment) -> list[str]:
    """All of them."""
    said = []
    if len(table.exits) > 1:
        said.append(f"the program's own exit status varies: {', '.join(map(str, sorted(table.exits)))}")
    laid = [arm.laid for arm in drawn if arm.laid is not None]
    if lost := max((each.lost for each in laid), default=0):
        said.append(f"{lost} litterings of a run had no space to report; their cost is not subtracted")
    if any(each.beside for each in laid):
        said.append(
            "some threads could not litter while those that created them waited (a malloc wants a lock that "
            "they hold): the rest of the litter is missing, and wall time holds that part of it"
        )
    if uncounted := max((each.uncounted for each in laid), default=0):
        said.append(fragment.not_waited_for(uncounted))
    if any(each.deepbind for each in laid):
        said.append(
            "the program opens extensions with RTLD_DEEPBIND, which would mix the C library's blocks with "
            "those of other allocators: they were opened without it wherever something is preloaded"
        )
    said += [
        f"time inside the allocator is unknown of {arms.label(table.spec, cell)}: sampled, {why}"
        for cell in arms.wanted(table.spec, plan)
        if not table.problem(cell) and (why := table.sampled(cell)[1])
    ]
    if any(arm.split and arm.split.method == "timer" for arm in drawn):
        said.append(
            "time inside the allocator was sampled by a timer in the program, for perf events are not "
            "allowed here: it is four times as coarse and does not see the kernel (`reap doctor` says more)"
        )
    if "on" in plan.huge_pages:
        lacking = [each.name for each in table.spec.allocators if not arms.can_have_huge_pages(each)]
        if lacking:
            said.append(
                f"{' and '.join(lacking)} cannot be told to ask for huge pages, and this kernel gives none "
                "unasked: only run without"
            )
    if any(arm.sound and arm.misses is None for arm in drawn) and table.looked_for_misses:
        said.append(_no_misses(plan))
    for level in plan.levels:
        asked = plan.litter(profile, level).objects
        most = max((arm.laid.objects for arm in drawn if arm.laid and arm.level == level.name), default=asked)
        if most < asked and not any(each.beside for each in laid):
            said.append(
                f"{units.percent(most / asked)} of the litter of {level.name} was laid: {profile.threads} "
                "threads were to share it, and fewer were created"
            )
    said += fragment.mostly_left_out(profile)
    images, of = _images(plan), Path(profile.program).name
    if of and of not in images and profile.processes == 1:
        said.append(
            f"the sizes are those of {profile.program}: right only if it is a variant of this program"
        )
    return said


def elsewhere(profile: SizeProfile, plan: Fragment) -> str:
    """The program that allocates most, if another executes it and it found a clean heap."""
    if plan.children or profile.processes == 1 or Path(profile.program).name in _images(plan):
        return ""
    return profile.program


def _no_misses(plan: Fragment) -> str:
    if plan.caches == COUNTERS:
        return "some misses were not counted: others had the processor's counters meanwhile"
    return (
        "some runs in simulated caches counted nothing: the program executes another, or does not run under "
        "callgrind as it does without"
    )


def _images(plan: Fragment) -> set[str]:
    """The files that the variants begin as."""
    return {Path(os.path.realpath(each.program.image)).name for each in plan.variants}
