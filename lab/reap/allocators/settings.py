"""Variables that set an allocator or a runtime, put beside those that a program is started with already."""

from collections.abc import Mapping
from typing import NamedTuple

from reap.allocators.records import DEFAULT, Allocator


class _Words(NamedTuple):
    """Form in which a variable holds several words."""

    separator: str
    assigns: str
    """What is between a word's key and its value."""


TUNABLES = "GLIBC_TUNABLES"

_LISTS = {
    TUNABLES: _Words(":", "="),
    "MALLOC_CONF": _Words(",", ":"),
    "SCUDO_OPTIONS": _Words(":", "="),
    "GODEBUG": _Words(",", "="),
    "NODE_OPTIONS": _Words(" ", "="),
    "JAVA_TOOL_OPTIONS": _Words(" ", "="),
    "RUBYOPT": _Words(" ", "="),
}
"""Variables that hold several words, by name; every other holds one value."""

_OVERRIDDEN_BY = {
    f"MALLOC_{alias}": f"glibc.malloc.{name}"
    for alias, name in {
        "ARENA_MAX": "arena_max",
        "ARENA_TEST": "arena_test",
        "CHECK_": "check",
        "MMAP_MAX_": "mmap_max",
        "MMAP_THRESHOLD_": "mmap_threshold",
        "PERTURB_": "perturb",
        "TOP_PAD_": "top_pad",
        "TRIM_THRESHOLD_": "trim_threshold",
    }.items()
}
"""glibc's older variables, and the tunable that overrides each."""


_HUGE_PAGES: dict[str, dict[str, str]] = {
    DEFAULT: {TUNABLES: "glibc.malloc.hugetlb=1"},
    "jemalloc": {"MALLOC_CONF": "thp:always"},
    # The first is what version 2.0 listens to, the second what later ones do.
    "mimalloc": {"MIMALLOC_LARGE_OS_PAGES": "1", "MIMALLOC_ALLOW_LARGE_OS_PAGES": "1"},
}
"""What makes an allocator ask for transparent huge pages, by the first word of its name.

glibc has had its tunable since 2.35.
"""


def huge_pages(allocator: Allocator, held: Mapping[str, str]) -> dict[str, str] | None:
    """The variables that make it ask for huge pages, merged with `held`; None if it has no switch.

    With the kernel's `always` none is needed.
    """
    words = _HUGE_PAGES.get(allocator.name.partition("-")[0])
    return None if words is None else merged(words, held)


def merged(changes: Mapping[str, str], held: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set so that `changes` hold in a program that is started with `held`.

    A variable that lists words keeps its other words, in their order; a word of `changes` replaces all with
    its key and comes last, as the last counts. Any other variable is replaced whole. An older variable of
    glibc, as MALLOC_ARENA_MAX, takes its tunable out of GLIBC_TUNABLES, which would override it. What
    `changes` does not touch is not returned.
    """
    made = {name: _with_words(name, value, held.get(name, "")) for name, value in changes.items()}
    overriding = {_OVERRIDDEN_BY[name] for name in changes if name in _OVERRIDDEN_BY}
    before = made.get(TUNABLES, held.get(TUNABLES, ""))
    kept = _without(before, overriding, _LISTS[TUNABLES])
    return made if kept == before else {**made, TUNABLES: kept}


def _with_words(name: str, words: str, before: str) -> str:
    # A jemalloc that is built with a prefix has it before the name of its variable, as _RJEM_MALLOC_CONF.
    form = _LISTS.get("MALLOC_CONF" if name.endswith("MALLOC_CONF") else name)
    if form is None:
        return words
    keys = {key for each in words.split(form.separator) if (key := _key(each, form))}
    return form.separator.join(filter(None, (_without(before, keys, form), words)))


def _without(words: str, keys: set[str], form: _Words) -> str:
    """The words but for those of these keys."""
    return form.separator.join(each for each in words.split(form.separator) if _key(each, form) not in keys)


def _key(word: str, form: _Words) -> str:
    """Before the value; empty for a word without one, which replaces none."""
    key, assigns, _ = word.partition(form.assigns)
    return key if assigns else ""
