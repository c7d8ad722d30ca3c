"""Part of a program that a recording accounts for: of its processes, and of their memory."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from reap import native
from reap.base import units
from reap.recording.records import Coverage, Unrecorded

_WHY = {
    native.UNRECORDED_NOT_LOADED: "the recorder was not loaded into it (a static or set-user-ID program, "
    "or one that was started with another environment)",
    native.UNRECORDED_NO_TRACE: "it could not reach the recording",
    native.UNRECORDED_FOREIGN: "it is for another C library or processor, and was started without "
    "the recorder",
    native.UNRECORDED_OUT_OF_REACH: "its root directory or its user cannot reach the recorder, and it was "
    "started without",
    native.UNRECORDED_SANITIZED: "it is built with a sanitizer, whose runtime must come first, and was "
    "started without the recorder",
    native.UNRECORDED_EXPECTED: "it was executed with the recorder, which did not begin there (a set-user-ID "
    "program, or one that ended at once)",
}
_OWN_MALLOC = "the executable brings a malloc of its own, which no preload can get in front of"


def coverage(recording: native.Recording, cut: list[str]) -> Coverage | None:
    """Coverage of a recording; None for one from outside, which has no part in the processes.

    `cut` says why the recording is not whole, in sentences: see `notes.cut`.
    """
    images = recording.images()
    if recording.header().attached:
        return None
    missing = [*unrecorded(recording.unrecorded(), images), *_bypassed(images)]
    own = sum(bool(image.flags & native.IMAGE_BYPASSED) for image in images)
    at, anonymous = max(recording.anonymous(), key=lambda point: point[1], default=(0.0, 0))
    return Coverage(
        processes=len(images) - own + sum(each.processes for each in missing),
        recorded=len(images) - own,
        anonymous=float(anonymous),
        live=_live_at(at, recording.timeline()[1]),
        unrecorded=missing,
        cut=cut,
    )


def _live_at(seconds: float, moments: Sequence[tuple[float, float, float]]) -> float:
    """The bytes in use at a time, by the bin that it lies in."""
    level = 0.0
    for at, high, _ in moments:
        if at > seconds:
            break
        level = high
    return level


def unrecorded(processes: list[tuple[int, int, str]], images: list[native.Image]) -> list[Unrecorded]:
    """Programs of which nothing was recorded. One that was judged while it started is recorded all the same.

    Why the recorder was not loaded is known better where it was left out: of that process and its children.
    """
    recorded = {(image.pid, name_of(image.executable)) for image in images}
    vague = (native.UNRECORDED_NOT_LOADED, native.UNRECORDED_EXPECTED)
    left_out = {name_of(file) for _, reason, file in processes if reason not in vague}
    reasons: dict[tuple[str, int], set[int]] = {}
    for pid, reason, file in processes:
        reasons.setdefault((name_of(file), pid), set()).add(reason)
    missing: dict[tuple[int, str], int] = {}
    for (name, pid), given in sorted(reasons.items()):
        reason = max(given - {native.UNRECORDED_EXPECTED}, default=native.UNRECORDED_EXPECTED)
        expected = native.UNRECORDED_EXPECTED in given  # what the recording itself has waited for in vain
        known = (pid, name) in recorded and not expected
        if not known and not (reason == native.UNRECORDED_NOT_LOADED and name in left_out):
            missing[reason, name] = missing.get((reason, name), 0) + 1
    return [
        Unrecorded(program=name, processes=count, why=_WHY[reason])
        for (reason, name), count in missing.items()
        if reason in _WHY
    ]


def _bypassed(images: list[native.Image]) -> list[Unrecorded]:
    names = [name_of(image.executable) for image in images if image.flags & native.IMAGE_BYPASSED]
    return [
        Unrecorded(program=name, processes=names.count(name), why=_OWN_MALLOC) for name in sorted(set(names))
    ]


def name_of(executable: str) -> str:
    """Name of an executable's file, whether or not it is deleted."""
    return executable.removesuffix(" (deleted)").rpartition("/")[2]


def matches(name: str, globs: Sequence[str]) -> bool:
    """Whether a name is one of those that are accepted."""
    return any(fnmatchcase(name, glob) for glob in globs)


def accepted(held: Coverage, globs: Sequence[str]) -> Coverage:
    """Coverage without the programs that match `globs`: known and accepted not to be recorded."""
    rest = [each for each in held.unrecorded if not matches(each.program, globs)]
    return msgspec.structs.replace(held, unrecorded=rest)


def sentence(held: Coverage) -> str:
    """One line: `3 of 4 processes recorded; blocks in use are 85 % of 120 MiB of anonymous memory`."""
    said = f"{held.recorded} of {units.many(held.processes, 'process', 'es')} recorded"
    if not held.anonymous:
        return f"{said}; resident memory was not sampled"
    part = units.percent(min(held.live / held.anonymous, 1.0))
    return f"{said}; blocks in use are {part} of {units.size(held.anonymous)} of anonymous memory at its peak"


def missing(held: Coverage) -> list[str]:
    """Reasons why figures are of less than the whole program, a sentence each; empty if they are not."""
    return [*held.cut, *(_nothing_of(each) for each in held.unrecorded)]


def _nothing_of(each: Unrecorded) -> str:
    several = f"{each.program} ({each.processes} processes)" if each.processes > 1 else each.program
    return f"Nothing was recorded of {several}: {each.why}."
