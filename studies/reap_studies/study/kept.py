"""What a study counts once in a run beside its experiments, and keeps: a file each, as JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from reap.api import ReapError, decode, write_safely
from reap_studies.study import measuring
from reap_studies.study.records import Counted

Kept = TypeVar("Kept", bound=Counted)


def read(place: Path, wanted: Kept) -> Kept | None:
    """What `place` has of the card, version and scale of `wanted`; None where it has nothing of these."""
    try:
        found = decode(place.read_bytes(), type(wanted))
    except (OSError, msgspec.MsgspecError):
        return None
    same = (found.card, found.version, found.scale) == (wanted.card, wanted.version, wanted.scale)
    return found if same else None


def write(place: Path, found: Counted) -> None:
    """Keeps it, over what was there. Throws ReapError if it cannot be kept."""
    write_safely(place, msgspec.json.encode(found) + b"\n", force=True)


def once(
    place: Path, known: Kept, count: Callable[[Kept], Kept], is_whole: Callable[[Kept], bool] = lambda _: True
) -> Kept:
    """What `place` has, if that is whole; else what `count` makes of `known`, which is kept.

    Whatever goes wrong is the reason why there is nothing, and is tried again the next time. Throws ReapError
    if it cannot be kept.
    """
    found = read(place, known)
    if found is not None and is_whole(found):
        return found
    if why := measuring.lacking(known.card):
        return msgspec.structs.replace(known, excluded=why)
    try:
        counted = count(known)
    except ReapError as error:
        return msgspec.structs.replace(known, excluded=error.what)
    write(place, counted)
    return counted
