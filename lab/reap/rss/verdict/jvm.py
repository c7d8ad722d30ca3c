"""Sentences on what a JVM has its memory for, by its own account (native memory tracking)."""

from collections.abc import Callable

from reap.base import units
from reap.launch.process.records import Native
from reap.rss.records import Residence
from reap.rss.verdict.cases import LEAST, Remedy

_NAMED = 3
"""Categories that a sentence names."""

_MEANING = {"Other": "direct buffers and the like", "Internal": "its own bookkeeping"}
"""Categories whose name says nothing."""

_TRACK = "java -XX:NativeMemoryTracking=summary says for what it is; reap then asks with the JDK's jcmd."

_BUFFERS = Remedy(what="a limit of direct buffers (-XX:MaxDirectMemorySize), or buffers that are reused")


def of_malloc(residence: Residence) -> list[str]:
    """Sentence on what of malloc's memory a JVM has in use; none for what is no JVM's."""
    used = sum(each.malloc for each in residence.native)
    if not used:
        return _untracked(residence)
    largest = _largest(residence, lambda each: each.malloc)
    return [f"By its own account the JVM has {units.size(used)} of malloc's in use: {largest}."]


def mapped(residence: Residence) -> list[str]:
    """Sentence on what a JVM has committed beside its heap; none for what is no JVM's."""
    beside = [each for each in residence.native if each.name not in {"Java Heap", "Thread"}]
    if not any(each.mapped for each in beside):
        return _untracked(residence)
    largest = _largest(residence, lambda each: each.mapped if each in beside else 0)
    return [f"By its own account it has committed: {largest}."]


def buffers(residence: Residence) -> list[Remedy]:
    """Remedy where direct buffers are the most that a JVM has of malloc."""
    most = max(residence.native, key=lambda each: each.malloc, default=None)
    return [_BUFFERS] if most is not None and most.name == "Other" and most.malloc >= LEAST else []


def _largest(residence: Residence, size: Callable[[Native], int]) -> str:
    ordered = sorted((each for each in residence.native if size(each)), key=size, reverse=True)
    named = [f"{_called(each.name)} {units.size(size(each))}" for each in ordered[:_NAMED]]
    return ", ".join(named)


def _called(name: str) -> str:
    return f"{name} ({_MEANING[name]})" if name in _MEANING else name


def _untracked(residence: Residence) -> list[str]:
    parts = residence.settled.parts
    return [_TRACK] if max(parts.java, parts.jvm) >= LEAST and not residence.native else []
