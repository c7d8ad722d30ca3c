"""Cutting a report to a size that fits into a page. What is cut is said in the report's own notes."""

from dataclasses import dataclass

import msgspec

from reap.base import units
from reap.base.text import shortened
from reap.compare.levels.records import Fragmented
from reap.drag.exact.records import DragLevel, DragProfile
from reap.experiment.records import Ratio
from reap.recording.records import Point, Profile, Site
from reap.report.records import Answer, Report


@dataclass(frozen=True)
class Limits:
    """How much of a profile is kept."""

    sites: int
    frames: int
    points: int
    processes: int
    stacks: int
    """Of the flame graph: those with the most samples."""
    text: int
    """Characters of one string: an argument can be a whole program."""


_DRAWN = 3
"""Processes whose drag is drawn."""

_DEEP = 48
"""Frames of a stack that are drawn."""

STEPS = (
    Limits(sites=200, frames=64, points=800, processes=200, stacks=800, text=4000),
    Limits(sites=100, frames=32, points=400, processes=100, stacks=400, text=1000),
    Limits(sites=50, frames=24, points=200, processes=50, stacks=200, text=500),
    Limits(sites=20, frames=12, points=100, processes=20, stacks=80, text=300),
    Limits(sites=5, frames=4, points=40, processes=5, stacks=20, text=150),
)
"""From what a page shows well to what a page of dozens of programs can hold."""


def trim(report: Report, limits: Limits) -> Report:
    """The report with its long lists and strings cut; the largest sites and every peak of a curve stay."""
    answers = [_answer(answer, limits) for answer in report.answers]
    return _clipped(msgspec.structs.replace(report, answers=answers), limits.text)


def thin(points: list[Point], most: int) -> list[Point]:
    """At most `most` points: the lowest and the highest of each slice, so that no peak is lost."""
    if len(points) <= most:
        return points
    slices = max(1, most // 2)
    kept: list[Point] = []
    for index in range(slices):
        part = points[index * len(points) // slices : (index + 1) * len(points) // slices]
        ends = {id(p): p for p in (min(part, key=_bytes), max(part, key=_bytes))}
        kept += sorted(ends.values(), key=lambda point: point.seconds)
    return kept


def _bytes(point: Point) -> float:
    return point.bytes


def _answer(answer: Answer, limits: Limits) -> Answer:
    if answer.fragmented is not None:
        answer = msgspec.structs.replace(answer, fragmented=_without_pairs(answer.fragmented))
    stacks = _heaviest(answer.stacks, limits.stacks) if len(answer.stacks) > limits.stacks else answer.stacks
    if any(len(line) > limits.text for line in stacks):
        stacks = [_narrow(line, limits.text) for line in stacks]
    if stacks is not answer.stacks:
        answer = msgspec.structs.replace(answer, stacks=stacks)
    if answer.drag is not None:
        answer = msgspec.structs.replace(answer, drag=_drag(answer.drag, limits))
    if answer.profile is None:
        return answer
    return msgspec.structs.replace(answer, profile=_profile(answer.profile, limits))


def _without_pairs(result: Fragmented) -> Fragmented:
    """Arms with the ratios that the page shows, and without those of every round."""

    def bare(ratios: dict[str, Ratio]) -> dict[str, Ratio]:
        drawn = {name: ratios[name] for name in ("cpu", "minor_faults", "peak_resident") if name in ratios}
        return {name: msgspec.structs.replace(ratio, pairs=[]) for name, ratio in drawn.items()}

    arms = [
        msgspec.structs.replace(
            arm,
            normalised=bare(arm.normalised),
            slowdown=bare(arm.slowdown),
            to_custom=bare(arm.to_custom),
            to_best=bare(arm.to_best),
            to_small=bare(arm.to_small),
            to_allocator=bare(arm.to_allocator),
        )
        for arm in result.arms
    ]
    return msgspec.structs.replace(result, arms=arms)


def _drag(profile: DragProfile, limits: Limits) -> DragProfile:
    """The first processes with fewer sites; of those after them the figures alone."""
    held, most = len(profile.processes), limits.processes
    cut = [f"This page counts the first {most} of {units.whole(held)} processes; the JSON has them all."]
    return msgspec.structs.replace(
        profile,
        notes=[*profile.notes, *(cut if held > most else [])],
        processes=[
            msgspec.structs.replace(
                process,
                levels=[_level(level, limits if number < _DRAWN else None) for level in process.levels],
            )
            for number, process in enumerate(profile.processes[: limits.processes])
        ],
    )


def _level(level: DragLevel, limits: Limits | None) -> DragLevel:
    early = _level(level.before_free, limits) if level.before_free else None
    if limits is None:
        return msgspec.structs.replace(level, curve=[], sites=[], before_free=early)
    sites = [
        msgspec.structs.replace(site, stack=site.stack[: limits.frames])
        for site in level.sites[: limits.sites]
    ]
    return msgspec.structs.replace(level, sites=sites, before_free=early)


def _heaviest(stacks: list[str], most: int) -> list[str]:
    """Those with the most samples; the samples of the others are one frame, so that parts stay parts."""
    counted = [(int(count), line) for line in stacks if (count := line.rpartition(" ")[2]).isdigit()]
    counted.sort(key=lambda each: -each[0])
    left = sum(count for count, _ in counted[most:])
    others = f"({units.whole(len(counted) - most)} other stacks) {left}"
    return [*sorted(line for _, line in counted[:most]), others]


def _narrow(line: str, most: int) -> str:
    """A stack in `most` characters, its count whole: by shorter names first, then without its innermost."""
    frames, _, count = line.rpartition(" ")
    longest, room = max(12, most // _DEEP), most - len(count) - 1
    kept: list[str] = []
    for frame in frames.split(";"):
        kept.append(shortened(frame, longest))  # both ends stay, so that methods of a class differ
        room -= len(kept[-1]) + 1
        if room < 0:
            kept.pop()
            break
    return f"{';'.join(kept)} {count}"


def _profile(profile: Profile, limits: Limits) -> Profile:
    cuts = [
        f"This page lists the first {limit} of {units.whole(held)} {what}; the JSON report has them all."
        for held, limit, what in (
            (len(profile.sites), limits.sites, "allocation sites"),
            (len(profile.processes), limits.processes, "processes"),
        )
        if held > limit
    ]
    return msgspec.structs.replace(
        profile,
        sites=[_site(site, limits) for site in profile.sites[: limits.sites]],
        processes=profile.processes[: limits.processes],
        live=thin(profile.live, limits.points),
        resident=thin(profile.resident, limits.points),
        rates=thin(profile.rates, limits.points),
        notes=[*profile.notes, *cuts],
    )


def _site(site: Site, limits: Limits) -> Site:
    left = len(site.stack) - limits.frames
    if left <= 0:
        return site
    return msgspec.structs.replace(site, stack=[*site.stack[: limits.frames], f"... and {left} more"])


def _clipped(report: Report, most: int) -> Report:
    """The report with every string cut to `most` characters, wherever it stands."""
    return msgspec.convert(_walk(msgspec.to_builtins(report), most), Report)


def _walk(value: object, most: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}... ({units.whole(len(value))} characters)"
    if isinstance(value, list):
        return [_walk(item, most) for item in value]
    if isinstance(value, dict):
        return {_walk(key, most): _walk(item, most) for key, item in value.items()}
    return value
