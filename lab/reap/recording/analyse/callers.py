"""The callers of a site: its stacks outwards, merged into a tree."""

from reap.recording.analyse.frames import (
    Frame,
    is_interpreter,
    is_python,
    is_start,
    is_system,
    names,
    passes_on,
)
from reap.recording.records import Caller

_DEEPEST = 12
"""Levels of a tree."""
_BRANCHES = 3
"""Callers of one function that are listed."""
_MOST = 16
"""Callers of one site that are listed."""
_IMPORTS = "<frozen importlib"
_LEAST = 0.05
"""Share of a site below which a caller is not listed."""


class Callers:
    """The tree of one site, which grows by a stack at a time."""

    def __init__(self) -> None:
        self._root = _Node()

    def add(self, outwards: list[Frame], objects: float, size: float) -> None:
        """Adds a stack: the frames that called the site, innermost first.

        Left out are what starts a program, libraries through which a call passes, and extensions between
        lines of Python. A function that calls itself is one level.
        """
        node = self._root
        node.count(objects, size)
        python = max((at for at, frame in enumerate(outwards) if is_python(frame)), default=-1)
        before, depth = ("", ""), 0
        for at, frame in enumerate(outwards):
            if _is_between(frame) or (at < python and not is_python(frame)):
                continue
            place = names(frame)[:2]
            if place == before:
                continue
            if depth == _DEEPEST:
                break
            before, depth = place, depth + 1
            node = node.children.setdefault(place, _Node())
            node.count(objects, size)

    def listed(self) -> list[Caller]:
        """The callers with the largest shares, each before its own callers."""
        found: list[Caller] = []
        self._list(self._root, 1, found)
        return found

    def _list(self, node: "_Node", depth: int, found: list[Caller]) -> None:
        order = sorted(node.children.items(), key=lambda each: (-each[1].bytes, -each[1].objects, each[0]))
        for (function, location), child in order[:_BRANCHES]:
            if child.bytes >= _LEAST * self._root.bytes and len(found) < _MOST:
                found.append(
                    Caller(
                        depth=depth,
                        function=function,
                        location=location,
                        objects=child.objects,
                        bytes=child.bytes,
                    )
                )
                self._list(child, depth + 1, found)


def _is_between(frame: Frame) -> bool:
    """Whether a frame is no code of the program, and no library's that it chose to call."""
    return (
        passes_on(frame)
        or is_system(frame)
        or is_start(frame)
        or is_interpreter(frame)
        or frame[3].startswith(_IMPORTS)
    )


class _Node:
    def __init__(self) -> None:
        self.children: dict[tuple[str, str], _Node] = {}
        self.objects = 0.0
        self.bytes = 0.0

    def count(self, objects: float, size: float) -> None:
        self.objects += objects
        self.bytes += size
