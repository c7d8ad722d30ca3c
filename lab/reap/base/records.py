"""The base of every record that crosses a layer or a file.

Records are msgspec structs: typed, validated when read, written as JSON without code of our own.
"""

from typing import TypeVar, dataclass_transform

import msgspec

Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """An immutable record. Unknown fields are passed over, so that an older reap reads a newer file."""


def decode(data: bytes | str, kind: type[Kind]) -> Kind:
    """Decodes JSON of our own. Throws msgspec.DecodeError for whatever is wrong with it.

    What is no text, or nested without end, is among that here; to msgspec these are errors of other kinds.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (UnicodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


class Estimate(Record):
    """A value with its 95 % CI. An exact value has `low == value == high`."""

    value: float
    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Whether this was counted and not estimated."""
        return self.low == self.value == self.high


def exactly(value: float) -> Estimate:
    """An estimate without doubt."""
    return Estimate(value=float(value), low=float(value), high=float(value))
