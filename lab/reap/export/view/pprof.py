"""The profile of pprof, a gzip-compressed protocol buffer, for `go tool pprof`, Pyroscope, Parca.

https://github.com/google/pprof/blob/main/proto/profile.proto has the fields. It is small and does not change,
so the few kinds of fields are encoded here, without a compiler's output and its library.
"""

import gzip
from collections.abc import Iterable

from reap.base.text import printable
from reap.recording.analyse.calls import MEASURES, UNITS, Calls, Measure, Place, several_processes

_NAMES: dict[Measure, str] = {
    "allocations": "alloc_objects",
    "bytes": "alloc_space",
    "peak": "peak_space",
    "temporary": "temporary_objects",
    "live-at-exit": "inuse_space",
}
"""As Go's heap profiles call them, so that pprof's own options and sites show what they expect."""


def render(tree: Calls, measure: Measure, start_unix_ns: int, seconds: float, comment: str) -> bytes:
    """All measures in one profile, `measure` shown first. Processes are labels of samples."""
    text = _Strings()
    samples, locations = _Messages(), _Locations(text)
    tagged = several_processes(tree)
    for node in range(len(tree.parents)):
        values = [round(tree.own[each][node]) for each in MEASURES]
        if not any(values):
            continue
        process, *path = tree.path(node)
        sample = _packed(1, locations.of([tree.places[each] for each in reversed(path)]))
        sample += _packed(2, values)
        if tagged:
            label = _number(1, text.at("process")) + _number(2, text.at(tree.places[process].function))
            sample += _bytes(3, label)
        samples.add(2, sample)
    profile = b""
    for each in MEASURES:
        kind = _number(1, text.at(_NAMES[each])) + _number(2, text.at(UNITS[each]))
        profile += _bytes(1, kind)
    profile += samples.data() + locations.data()
    said = text.at(comment)
    default = text.at(_NAMES[measure])
    profile += text.data()
    profile += _number(9, start_unix_ns) + _number(10, round(seconds * 1e9))
    profile += _packed(13, [said]) + _number(14, default)
    return gzip.compress(profile, mtime=0)


class _Messages:
    """Messages of a repeated field, one after another."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def add(self, field: int, message: bytes) -> None:
        self._parts.append(_bytes(field, message))

    def data(self) -> bytes:
        return b"".join(self._parts)


class _Strings:
    """The table of strings, of which the first is empty."""

    def __init__(self) -> None:
        self._known = {"": 0}

    def at(self, raw: str) -> int:
        return self._known.setdefault(printable(raw), len(self._known))

    def data(self) -> bytes:
        return b"".join(_bytes(6, each.encode()) for each in self._known)


class _Locations:
    """Mappings, locations and functions. A location has what was inlined there, innermost first."""

    def __init__(self, text: _Strings) -> None:
        self._text = text
        self._parts = _Messages()
        self._mappings: dict[str, int] = {}
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[tuple[Place, ...], int] = {}

    def of(self, path: list[Place]) -> list[int]:
        """The locations of a stack's places, innermost first."""
        found, lines = [], []
        for place in path:
            lines.append(place)
            if not place.inlined:
                found.append(self._location(tuple(lines)))
                lines = []
        return [*found, self._location(tuple(lines))] if lines else found

    def _location(self, lines: tuple[Place, ...]) -> int:
        known = self._locations.get(lines)
        if known is not None:
            return known
        number = self._locations[lines] = len(self._locations) + 1
        message = _number(1, number) + _number(2, self._mapping(lines[0].module))
        message += _number(3, lines[0].address)
        for place in lines:
            message += _bytes(4, _number(1, self._function(place)) + _number(2, place.line))
        self._parts.add(4, message)
        return number

    def _mapping(self, module: str) -> int:
        """0 where no file is known. Addresses are those of the file, as symbol tables have them."""
        if module and module not in self._mappings:
            number = self._mappings[module] = len(self._mappings) + 1
            name = _number(5, self._text.at(module))
            # With names already there, pprof does not look for them in the file.
            flags = b"".join(_number(field, 1) for field in (7, 8, 9, 10))
            self._parts.add(3, _number(1, number) + name + flags)
        return self._mappings.get(module, 0)

    def _function(self, place: Place) -> int:
        key = (place.function, place.file)
        if key not in self._functions:
            number = self._functions[key] = len(self._functions) + 1
            name = self._text.at(place.function)
            message = _number(1, number) + _number(2, name) + _number(3, name)
            self._parts.add(5, message + _number(4, self._text.at(place.file)))
        return self._functions[key]

    def data(self) -> bytes:
        return self._parts.data()


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value) if value else b""


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(_varint(value) for value in values))
