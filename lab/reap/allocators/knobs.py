"""Settings of allocators in the environment, as data beside this file, and those a version knows."""

import re
import subprocess
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from reap.allocators import settings
from reap.allocators.records import DEFAULT, Allocator
from reap.base.files import beginning
from reap.base.records import Record

Objective = Literal["cpu", "tail", "memory", "settled", "mean"]
"""What a setting may make less; of memory its peak, or settled, or in the mean over time."""

MEMORY: tuple[Objective, ...] = ("memory", "settled", "mean")
"""What a setting that is for memory may make less."""

_DATA = Path(str(files("reap.allocators"))) / "knobs.toml"


class Milder(Record):
    """Less of a setting, or a part of it."""

    name: str
    about: str
    words: list[dict[str, str]]
    """Its forms, by word without the family's prefix: the first that a version knows as a whole counts."""


class Setting(Milder):
    """A setting to try."""

    may: list[Objective]
    sign: Literal["user", "system", "threads", ""] = ""
    """What of a first run speaks for trying it early."""
    needs: str = ""
    """What the machine must have for it to do anything: `huge pages`, or `glibc 2.42` and later."""
    milder: list[Milder] = []


class Family(Record):
    """Allocators that read the same words."""

    variable: str
    """The variable that holds all words; empty: each word is in a variable of its own."""
    prefix: str
    assigns: str
    separator: str
    complaint: str
    """How it begins what it says of a word that it does not know; empty: it says nothing."""
    setting: list[Setting]

    def environment(self, words: Mapping[str, str], held: Mapping[str, str]) -> dict[str, str]:
        """The variables that say `words`, merged with what they hold already (`settings.merged`)."""
        if not self.variable:
            return settings.merged({self.prefix + word: value for word, value in words.items()}, held)
        said = self.separator.join(f"{self.prefix}{word}{self.assigns}{words[word]}" for word in words)
        return settings.merged({self.variable: said}, held) if said else self.held(held)

    def held(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Variables of the family in `environment`."""
        return {
            name: value
            for name, value in environment.items()
            if name == self.variable or (not self.variable and name.startswith(self.prefix))
        }


class Binding(Record):
    """A way to place a program on the nodes of a machine's memory."""

    name: str
    about: str
    may: list[Objective]
    words: list[str]
    """Of numactl."""


@cache
def families() -> dict[str, Family]:
    """Every family by the first word of its allocators' names."""
    return msgspec.convert(_data()["family"], dict[str, Family])


@cache
def bindings() -> list[Binding]:
    """Every way to place a program."""
    return msgspec.convert(_data()["binding"], list[Binding])


def family(allocator: Allocator) -> Family | None:
    """Family of an allocator; None where it has no knobs that we know."""
    return families().get(allocator.name.partition("-")[0])


def may(setting: Sequence[Objective]) -> list[Objective]:
    """Objectives that a setting may make less, with all of memory where that is among them."""
    return list(dict.fromkeys([*setting, *(MEMORY if "memory" in setting else ())]))


def variables(environment: Iterable[str]) -> list[str]:
    """Names of `environment` that preload an allocator or set one, of whatever family."""
    exact = {"LD_PRELOAD", "PYTHONMALLOC", "SCUDO_OPTIONS", *(each.variable for each in families().values())}
    # glibc's older names begin with MALLOC_, as MALLOC_ARENA_MAX.
    begins = ("MALLOC_", *(each.prefix for each in families().values() if not each.variable))
    return sorted(name for name in environment if name in exact or name.startswith(begins))


def known_form(
    allocator: Allocator, setting: Milder, *, loader: str = ""
) -> tuple[dict[str, str] | None, str]:
    """The first form of a setting of which the installed version knows every word.

    If there is none: None, and a word that it does not know.

    The C library lists its tunables, which `loader` is asked for; of others the name must be in the library.
    """
    lacking = ""
    for form in setting.words:
        unknown = [word for word in form if not _knows(allocator, word, loader)]
        if not unknown:
            return form, ""
        lacking = lacking or unknown[0]
    return None, lacking


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(_DATA.read_text())


def _knows(allocator: Allocator, word: str, loader: str) -> bool:
    if allocator.name == DEFAULT:
        listed = _tunables(loader)
        return not listed or f"glibc.malloc.{word}" in listed
    known = _family_prefix(allocator) + word
    # Options of mimalloc are in lower case and without their prefix; linkers let a name share another's end.
    pattern = rb"(?<!deprecated_)(?:%b|%b)\0" % (known.encode(), word.lower().encode())
    return re.search(pattern, _bytes(allocator.library)) is not None


def _family_prefix(allocator: Allocator) -> str:
    found = family(allocator)
    return found.prefix if found else ""


@cache
def _tunables(loader: str) -> frozenset[str]:
    """The names of all tunables of the C library; none where it cannot list them (before 2.33)."""
    try:
        done = subprocess.run(
            [loader, "--list-tunables"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(re.findall(r"^(glibc\.\S+):", done.stdout, re.MULTILINE))


@cache
def _bytes(library: str) -> bytes:
    return beginning(library, 1 << 30)
