"""What is said of memory that a runtime or a thread owns, and what its user may set."""

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

_REMEDIES: dict[str, list[tuple[str, dict[str, str]]]] = {
    "python": [("as malloc's, which can be trimmed", {"PYTHONMALLOC": "malloc"})],
    "v8": [("a limit of its heap, in MiB", {"NODE_OPTIONS": "--max-old-space-size=64"})],
    "java": [
        ("a heap that shrinks after a collection", {"JAVA_TOOL_OPTIONS": "-XX:MaxHeapFreeRatio=30"}),
        ("a limit of the heap: -Xmx", {}),
    ],
    "jvm": [("a smaller cache of compiled code: -XX:ReservedCodeCacheSize=64m", {})],
    "go": [
        ("collections more often", {"GOGC": "50"}),
        ("a limit that the collector works towards: GOMEMLIMIT", {}),
        ("call debug.FreeOSMemory() after the work that frees", {}),
    ],
    "php": [("call gc_mem_caches(), or end workers after so many requests: pm.max_requests", {})],
}

COPIED = {
    "python": "call gc.freeze() before the fork, so that a collection does not write to what is shared",
    "": "allocate before the fork only what is not written to afterwards, and the rest after it",
}
"""What keeps memory shared, by the largest owner; empty for any."""


def why(name: str) -> str:
    """Why its owner holds it."""
    return _WHY[name]


def remedies(name: str) -> list[tuple[str, dict[str, str]]]:
    """What to try, each with its environment."""
    return _REMEDIES.get(name, [])


def stack_sentences(moment: Taken) -> list[str]:
    """What of the stacks is in use."""
    if not moment.below:
        return []
    size = units.size(moment.below)
    return [f"{size} of it lie below the stack pointers: left by calls that have returned."]


OWNED = tuple(name for name in NAMES if name in _WHY)
