"""What may lower the memory that a program keeps, as data beside this file."""

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

import msgspec

from reap.base.records import Record

_DATA = Path(str(files("reap.allocators.remedies"))) / "table.toml"


class MemoryRemedy(Record):
    """One remedy. The fields are explained at the head of the data."""

    name: str
    owners: list[str]
    how: str = ""
    on: list[str] = []
    allocator: str = ""
    environment: dict[str, str] = {}
    trim: Literal["", "once", "often"] = ""
    huge_pages: Literal["", "off"] = ""

    @property
    def can_be_tried(self) -> bool:
        """Whether a run can have it; the others are changes of the program."""
        return bool(self.allocator or self.environment or self.trim or self.huge_pages)


@cache
def all_remedies() -> list[MemoryRemedy]:
    """Every remedy, in the order of the data."""
    return msgspec.convert(tomllib.loads(_DATA.read_text())["remedy"], list[MemoryRemedy])


def named(name: str) -> MemoryRemedy:
    """The remedy of that name."""
    return next(each for each in all_remedies() if each.name == name)
