"""A heap profile of pprof as a tree of calls: Go writes them, and `pprof -proto` from those of others.

https://github.com/google/pprof/blob/main/proto/profile.proto has the fields, by their numbers.
"""

import zlib
from collections.abc import Iterator

from reap.recording.analyse.calls import MEASURES, Calls, Measure, Place

_MEASURES: dict[str, Measure] = {
    "alloc_objects": "allocations",
    "alloc_space": "bytes",
    "peak_space": "peak",
    "temporary_objects": "temporary",
    "inuse_space": "live-at-exit",
    "space": "live-at-exit",
}
"""Of the values of a sample by their name; `space` is what jemalloc and tcmalloc have in use."""
_MOST_BYTES = 1 << 29
"""Of a profile that is not compressed."""
_Value = int | memoryview
_Message = dict[int, list[_Value]]


class BadProfileError(Exception):
    """Problem with a file, as the end of a sentence about it."""


def is_profile(head: bytes, name: str) -> bool:
    """Whether a file that begins with these bytes and has this name may be one; recordings never are."""
    return head.startswith(b"\x1f\x8b") or name.endswith((".pprof", ".pb"))


def read(data: bytes) -> Calls:
    """The profile's stacks; measures that it does not have are 0. Throws BadProfileError."""
    profile = _message(memoryview(_unpacked(data)))
    text = [bytes(each).decode(errors="replace") for each in _bytes(profile, 6)]
    if not text or text[0] or 2 not in profile:
        raise BadProfileError("it has no samples or no names" if text else "it is no profile of pprof")
    kinds = [_at(text, _int(_message(each), 1)) for each in _bytes(profile, 1)]
    columns = {kind: place for place, kind in enumerate(kinds) if kind in _MEASURES}
    if not columns:
        raise BadProfileError(f"it is no heap profile: it counts {', '.join(kinds) or 'nothing'}")
    reader = _Reader(profile, text)
    for each in _bytes(profile, 2):
        sample = _message(each)
        values = _numbers(sample, 2)
        if len(values) != len(kinds):
            raise BadProfileError("it is damaged: a sample has too few values")
        reader.add(_numbers(sample, 1), {_MEASURES[kind]: values[place] for kind, place in columns.items()})
    return reader.tree


class _Reader:
    """Adds samples to a tree below the program, which is its first mapping."""

    def __init__(self, profile: _Message, text: list[str]) -> None:
        self._text = text
        modules = {_int(each, 1): _at(text, _int(each, 5)) for each in map(_message, _bytes(profile, 3))}
        functions = {_int(each, 1): each for each in map(_message, _bytes(profile, 5))}
        self._locations = {}
        places: list[Place] = []
        program = next(iter(modules.values()), "")
        places.append(Place(_base(program) or "program", "", 0, program, 0, inlined=False, process=True))
        for location in map(_message, _bytes(profile, 4)):
            module, address = modules.get(_int(location, 2), ""), _int(location, 3)
            lines = [_message(line) for line in _bytes(location, 4)]
            found = [self._place(line, functions, module, address) for line in lines] or [
                Place(f"{_base(module) or 'unknown'}+0x{address:x}", "", 0, module, address, False, False)
            ]
            self._locations[_int(location, 1)] = range(len(places), len(places) + len(found))
            places += found
        own: dict[Measure, list[float]] = {measure: [0.0] for measure in MEASURES}
        self.tree = Calls([-1], [0], own, places)
        self._known: dict[tuple[int, int], int] = {}

    def _place(self, line: _Message, functions: dict[int, _Message], module: str, address: int) -> Place:
        function = functions.get(_int(line, 1))
        if function is None:
            raise BadProfileError("it is damaged: a line refers to a function that is not there")
        name = _at(self._text, _int(function, 2)) or "unknown"
        file = _at(self._text, _int(function, 4))
        return Place(
            name, file, max(_signed(_int(line, 2)), 0), module, address, inlined=False, process=False
        )

    def add(self, locations: list[int], values: dict[Measure, int]) -> None:
        """A stack, innermost first, as are the lines of a location."""
        node = 0
        for number in reversed(locations):
            if number not in self._locations:
                raise BadProfileError("it is damaged: a sample refers to code that is not there")
            for place in reversed(self._locations[number]):
                node = self._below(node, place)
        for measure, value in values.items():
            self.tree.own[measure][node] += max(_signed(value), 0)

    def _below(self, node: int, place: int) -> int:
        known = self._known.setdefault((node, place), len(self.tree.parents))
        if known == len(self.tree.parents):
            self.tree.parents.append(node)
            self.tree.at.append(place)
            for column in self.tree.own.values():
                column.append(0.0)
        return known


def _unpacked(data: bytes) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
        found = unpack.decompress(data, _MOST_BYTES)
    except zlib.error as error:
        raise BadProfileError(f"it is damaged: {error}") from error
    if not unpack.eof:
        cut = "is longer than 512 MiB" if len(found) == _MOST_BYTES else "is damaged: its end is missing"
        raise BadProfileError(f"it {cut}")
    return found


def _message(data: _Value) -> _Message:
    """The fields of a message, each as often as it is there."""
    found: _Message = {}
    for number, value in _fields(data):
        found.setdefault(number, []).append(value)
    return found


def _fields(data: _Value) -> Iterator[tuple[int, _Value]]:
    if isinstance(data, int):
        raise BadProfileError("it is damaged: a message is a number")
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind not in (1, 2, 5):
            raise BadProfileError("it is damaged, or no profile of pprof")
        length, at = _varint(data, at) if kind == 2 else (8 if kind == 1 else 4, at)
        if at + length > len(data):
            raise BadProfileError("it is damaged: a field is longer than the file")
        if kind == 2:
            yield tag >> 3, data[at : at + length]
        at += length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise BadProfileError("it is damaged: a number has no end")


def _bytes(message: _Message, number: int) -> list[memoryview]:
    found = message.get(number, [])
    if any(isinstance(each, int) for each in found):
        raise BadProfileError("it is damaged: a message is a number")
    return [each for each in found if not isinstance(each, int)]


def _int(message: _Message, number: int) -> int:
    value = message.get(number, [0])[-1]
    if not isinstance(value, int):
        raise BadProfileError("it is damaged: a number is a message")
    return value


def _numbers(message: _Message, number: int) -> list[int]:
    """A repeated number, packed or not."""
    found: list[int] = []
    for each in message.get(number, []):
        if isinstance(each, int):
            found.append(each)
            continue
        at = 0
        while at < len(each):
            value, at = _varint(each, at)
            found.append(value)
    return found


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _at(text: list[str], place: int) -> str:
    if place >= len(text):
        raise BadProfileError("it is damaged: a name is not there")
    return text[place]


def _base(path: str) -> str:
    return path.rpartition("/")[2]
