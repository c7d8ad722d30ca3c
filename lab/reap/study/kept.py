"""What a study counts once in a run beside its experiments, and keeps: a file each, as JSON."""

from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from reap.experiment.card import Card
from reap.files import write_safely


class Counted(Protocol):
    """A record of one workload."""

    @property
    def card(self) -> Card:
        """The workload's, as it was."""
        ...

    @property
    def version(self) -> str:
        """Of its package."""
        ...

    @property
    def scale(self) -> int:
        """How much work the run did."""
        ...


Kept = TypeVar("Kept", bound=Counted)


def read(place: Path, wanted: Kept) -> Kept | None:
    """What `place` has of the card, version and scale of `wanted`; None where it has nothing of these."""
    try:
        found = msgspec.json.decode(place.read_bytes(), type=type(wanted))
    except (OSError, msgspec.MsgspecError):
        return None
    same = (found.card, found.version, found.scale) == (wanted.card, wanted.version, wanted.scale)
    return found if same else None


def write(place: Path, found: Counted) -> None:
    """Keeps it, over what was there. Throws ReapError if it cannot be kept."""
    write_safely(place, msgspec.json.encode(found) + b"\n", force=True)
