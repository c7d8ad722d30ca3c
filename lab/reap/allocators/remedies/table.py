"""Remedies for memory that a program keeps and for the time of allocation, as data beside this file."""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

import msgspec

from reap.base.records import Record

_SIZE = re.compile(r"\{(\w+) (\d+)%\}")
_LEAST_SIZE = 8
"""MiB: a smaller limit keeps a runtime from starting."""

_DATA = Path(str(files("reap.allocators.remedies"))) / "table.toml"


class KnownRemedy(Record):
    """One remedy. The fields are explained at the head of the data."""

    name: str
    owners: list[str] = []
    causes: list[str] = []
    how: str = ""
    note: str = ""
    on: list[str] = []
    allocator: str = ""
    environment: dict[str, str] = {}
    hook: Literal["", "cpython"] = ""
    trim: Literal["", "once", "often"] = ""
    huge_pages: Literal["", "off"] = ""

    @property
    def can_be_tried(self) -> bool:
        """Whether a run can have it; the others are changes of the program."""
        return bool(self.allocator or self.environment or self.hook or self.trim or self.huge_pages)

    def sized(self, value: str, size_of: Callable[[str], int]) -> str | None:
        """A value of its environment with the sizes that stand in it; None where one is too small to be one.

        `size_of` has the bytes of a part of settled memory, by its name.
        """
        sizes = {each: size_of(each[1]) * int(each[2]) // 100 >> 20 for each in _SIZE.finditer(value)}
        if any(size < _LEAST_SIZE for size in sizes.values()):
            return None
        for found, size in sizes.items():
            value = value.replace(found[0], str(size))
        return value


@cache
def all_remedies() -> list[KnownRemedy]:
    """Every remedy, in the order of the data."""
    return msgspec.convert(tomllib.loads(_DATA.read_text())["remedy"], list[KnownRemedy])


def of_memory() -> list[KnownRemedy]:
    """Every remedy for memory that a part of it speaks for, in the order of the data."""
    return [each for each in all_remedies() if each.owners]


def against(cause: str) -> list[KnownRemedy]:
    """Every remedy that takes a cause away or lessens it, in the order of the data."""
    return [each for each in all_remedies() if cause in each.causes]


def named(name: str) -> KnownRemedy:
    """The remedy of that name. Throws KeyError."""
    return _by_name()[name]


@cache
def _by_name() -> dict[str, KnownRemedy]:
    return {each.name: each for each in all_remedies()}
