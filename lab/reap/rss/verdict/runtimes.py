"""Sentences on memory that a runtime or a thread owns, and settings for its user."""

from reap.base import units
from reap.rss.records import NAMES, Taken

_WHY = {
    "python": "CPython returns an arena only when no object in it is left.",
    "v8": "V8 returns pages after a collection; its limit depends on the memory of the machine.",
    "java": "A JVM's heap stays at what it has grown to until its collector shrinks it.",
    "jvm": "It grows with the classes and the methods that are loaded and compiled.",
    "go": "Go's heap grows to twice what was live, by default, and what is free is returned over minutes.",
    "go_runtime": "Go's tables grow with its heap, and are not returned.",
    "php": "PHP keeps the chunks of a request for those to come.",
    "beam": "Erlang's carriers hold the heaps of its processes and its tables, with what is free in them.",
    "data": "The program's own variables: they stay.",
    "named": "Its owner has named the mapping, as /proc/PID/maps shows.",
}
"""Why a runtime holds it, in a sentence."""

OF = {
    **NAMES,
    "jvm": "a JVM's beside its heap: metaspace, compiled code, tables of its collector",
    "java": "a JVM's heap",
    "named": "anonymous memory that its owner has named",
    "data": "static data of the program (.bss)",
}
"""The parts in a sentence."""

_REMEDIES: dict[str, list[tuple[str, str]]] = {
    "python": [("Python's objects from malloc", "as malloc's, which can be trimmed")],
    "v8": [("a smaller heap of V8", "a limit of its heap, in MiB")],
    "java": [
        ("a Java heap that shrinks", "a heap that shrinks after a collection"),
        ("a smaller Java heap", "a limit of the heap"),
    ],
    "jvm": [("a smaller cache of compiled code", "")],
    "go": [
        ("collecting at half the growth", "collections more often"),
        ("a memory limit of Go", "a limit that the collector works towards"),
        ("returning Go's free pages", ""),
    ],
    "php": [("workers of PHP that end sooner", "")],
}
"""By part: remedies of the table, each with its words here; empty for those that it has."""

COPIED = "allocate before the fork only what is not written to afterwards, and the rest after it"
"""Advice that keeps memory shared, whoever owns it."""


def why(name: str) -> str:
    """Reason why the owner of that part holds it."""
    return _WHY[name]


def remedies(name: str) -> list[tuple[str, str]]:
    """Names of remedies for the part of that name, each with its words or none."""
    return _REMEDIES.get(name, [])


def stack_sentences(moment: Taken) -> list[str]:
    """Sentence on how much of the stacks is not in use, if anything."""
    if not moment.below:
        return []
    size = units.size(moment.below)
    return [f"{size} of it lie below the stack pointers: left by calls that have returned."]


OWNED = tuple(name for name in NAMES if name in _WHY)
