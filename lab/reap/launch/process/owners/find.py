"""Finds the owners of a process's anonymous memory, again and again at little cost."""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath

from reap.allocators import elf
from reap.launch.process import smaps
from reap.launch.process.areas import ARENAS, BELOW, Area, Claims
from reap.launch.process.owners import glibc, hotspot, php, python
from reap.launch.process.owners.memory import Memory
from reap.launch.process.owners.stacks import Stacks

_PYTHON = re.compile(r"(lib)?python[23][.\d]*[a-z]*(\.so.*)?|uwsgi.*")
_V8 = re.compile(r"node(js)?|libnode\.so.*|libv8.*\.so.*|chrom(e|ium)|electron|deno")
_PHP = re.compile(r"(lib)?php(-fpm|-cgi)?[\d.]*(\.so)?")
_SMALL = 64 << 10
"""Resident bytes of a mapping below which its owner is not looked for in its memory."""
_SAME = 0.02
"""By this part may a mapping have changed that is not looked at again."""
_HINTED = 0x5000_0000_0000
"""Runtimes that choose addresses themselves do so below; the kernel's choice and PIE programs lie above."""
_V8_PAGE, _GO_ARENA = 256 << 10, 4 << 20
_NAMES = {"Go: heap": "go", "Go": "go_runtime", "v8": "v8", "cpython": "python", "zend": "php"}
"""Owners by how the name of a mapping begins."""
_MALLOCS = ("glibc: malloc", "jemalloc", "scudo", "mimalloc", "tcmalloc")
_STATIC = 128 << 10
"""Bytes of static data beside a library, of which no file says where they end."""
_LIBC = ("libc.so", "libc.musl", "ld-musl")
_CLASS_SPACE = (0x8_0000_0000, 0x10_0000_0000)


class Owners:
    """Of one process, as long as it is watched; what did not change is not looked at again.

    A mapping that is new, or has changed, costs up to 2 ms where CPython is in the process, else less than
    0.1 ms.
    """

    def __init__(self, pid: int, parent: "Owners | None" = None) -> None:
        """Takes over what was found in a parent, which holds in a process that was forked from it."""
        self._pid = pid
        self._stacks = Stacks(pid)
        self.seen: dict[int, tuple[Area, dict[str, int]]] = dict(parent.seen) if parent else {}
        self._image = ""
        self._go = False
        self._heap = (0, 0)

    def claims(self, areas: Sequence[Area]) -> Claims:
        """Claims of owners on each mapping."""
        files = {area.name for area in areas if area.name.startswith("/")}
        found = {}
        with Memory(self._pid) as memory:
            self._recognise(files, memory, areas)
            finders = self._finders({PurePath(name).name for name in files}, memory)
            stacks = {area.begin: self._stacks.below(area, memory) for area in self._stacks.find(areas)}
            for at, area in enumerate(areas):
                if not area.resident or not area.rights.endswith("p"):
                    continue
                if _is_static_data(areas, at, self._image):
                    found[area.begin] = {"data": area.resident}
                elif area.name.startswith("[anon:"):
                    found[area.begin] = {_owner_by_name(area.name): area.resident}
                elif area.unnamed:
                    found[area.begin] = self._of(area, finders, below=stacks.get(area.begin))
        self.seen = {begin: self.seen[begin] for begin in found.keys() & self.seen.keys()}
        return found

    def _recognise(self, files: set[str], memory: Memory, areas: Sequence[Area]) -> None:
        """Looks up what stays as it is for a program."""
        image = smaps.executable(self._pid)
        if image != self._image:
            self._image, self._go, self._heap = image, _is_go(self._pid), (0, 0)
        if self._heap == (0, 0) and any(name.endswith("/" + hotspot.LIBRARY) for name in files):
            self._heap = hotspot.heap(self._pid, memory, areas)

    def _finders(self, files: set[str], memory: Memory) -> "_Finders":
        placed: list[_Finder] = []
        inside: list[_Finder] = []
        rest: list[_Finder] = []
        if hotspot.LIBRARY in files:
            placed.append(lambda area: {"java": _overlap(memory, area, self._heap)})
            placed.append(lambda area: {"jvm": area.resident * _is_class_space_or_code(area)})
            rest.append(lambda area: {"jvm": area.resident})
        if self._go:
            placed.append(lambda area: {"go": area.resident * _is_hinted(area, _GO_ARENA)})
            if not any(name.startswith(_LIBC) for name in files):
                rest.append(lambda area: {"go_runtime": area.resident})
        if "beam.smp" in files:
            rest.append(lambda area: {"beam": area.resident})
        if any(_V8.fullmatch(name) for name in files):
            placed.append(lambda area: {"v8": area.resident * _is_v8(area)})
        if any(_PHP.fullmatch(name) for name in files):
            inside.append(lambda area: {"php": php.chunks(memory, area)})
        if any(_PYTHON.fullmatch(name) for name in files):
            inside.append(lambda area: {"python": python.arenas(memory, area)})
        inside.append(lambda area: {ARENAS: glibc.arenas(memory, area)})
        return placed, inside, rest

    def _of(self, area: Area, finders: "_Finders", below: int | None) -> dict[str, int]:
        placed, inside, rest = finders
        if owned := _first(placed, area):  # also where coroutines have their stacks in it
            return owned
        if below is not None:
            return {BELOW: below, "stack": area.resident}
        if area.resident < _SMALL:
            return _first(rest, area)
        before = self.seen.get(area.begin)
        if before is None or not _is_same(before[0], area):
            self.seen[area.begin] = before = area, _first(inside, area)
        return before[1] or _first(rest, area)


_Finder = Callable[[Area], dict[str, int]]
_Finders = tuple[list[_Finder], list[_Finder], list[_Finder]]
"""By the address of a mapping, by what lies in it, and those that take what is left; each in order."""


def _first(finders: list[_Finder], area: Area) -> dict[str, int]:
    for finder in finders:
        if owned := {name: size for name, size in finder(area).items() if size}:
            return owned
    return {}


def _is_same(before: Area, area: Area) -> bool:
    return before.end == area.end and abs(before.resident - area.resident) <= _SAME * area.resident


def _is_go(pid: int) -> bool:
    """Whether the executable is one of Go's."""
    try:
        return elf.is_go(f"/proc/{pid}/exe")
    except (OSError, elf.NotElfError):
        return False


def _is_hinted(area: Area, alignment: int) -> bool:
    return area.begin < _HINTED and area.begin % alignment == 0


def _is_v8(area: Area) -> bool:
    """V8 maps its pages at random addresses that are multiples of their size, and code wherever."""
    return "x" in area.rights or _is_hinted(area, _V8_PAGE)


def _is_class_space_or_code(area: Area) -> bool:
    return "x" in area.rights or _CLASS_SPACE[0] <= area.begin < _CLASS_SPACE[1]


def _overlap(memory: Memory, area: Area, reserved: tuple[int, int]) -> int:
    begin, end = max(area.begin, reserved[0]), min(area.end, reserved[1])
    if (begin, end) == (area.begin, area.end):
        return area.resident
    return memory.resident(begin, end) if begin < end else 0


def _is_static_data(areas: Sequence[Area], at: int, image: str) -> bool:
    """Whether a mapping goes on where one of an executable or library ends.

    Beside a library, but not beside the executable, any mapping may lie: only a small one is taken for its.
    """
    area, before = areas[at], areas[at - 1]
    if at == 0 or not area.unnamed or before.end != area.begin:
        return False
    library = before.rights == "rw-p" and ".so" in before.name and area.end - area.begin <= _STATIC
    return before.name == image or library


def _owner_by_name(name: str) -> str:
    """The owner of a mapping with a name, as `[anon: Go: heap]`."""
    word = name.removeprefix("[anon:").rstrip("]").strip()
    if word.startswith(_MALLOCS):
        return ARENAS
    if "stack" in word.split(":")[-1] or word.startswith(("glibc: pthread stack", "stack_and_tls")):
        return "stack"
    return next((owner for begin, owner in _NAMES.items() if word.startswith(begin)), "named")
