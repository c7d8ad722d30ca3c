"""The most memory that a process had requested from the OS and not returned, from its calls.

Counted is what brk() has grown by, and private anonymous memory that may be written: what sbrk and mmap gave
to allocators. Not counted are stacks, the static data of programs and libraries, what may not be written
(address space that is only reserved, as 64 MB for each arena of glibc), files, and shared memory. Pages that
are never touched count, and pages that were given up by madvise() still do: of those, resident memory tells.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from reap_studies.study.address_space import AddressSpace, Mapping

_LINE = re.compile(r"(\d+)\s+(.*)")
_WHOLE = re.compile(r"(\w+)\((.*)\)\s+= (-?\w+)")
_BEGUN = re.compile(r"(\w+)\((.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)\)\s+= (-?\w+)")
_MARK = "pwrite64"
_FORKS = frozenset({"clone", "clone3", "fork", "vfork"})


def high_water(lines: Iterable[str], page: int) -> int:
    """Bytes: of several processes, the most that any one of them had.

    `lines` are strace's, of all of them; a page has `page` bytes. Threads share what their process has; a
    forked child begins with what its parent had, a program that is executed with nothing.
    """
    return _heard(lines, page).most


def at_marks(lines: Iterable[str], page: int) -> dict[int, int]:
    """Bytes that a process had asked for when it marked a moment, by the number that it marked it with.

    A mark is a call of pwrite64(): its number is where in its file it writes.
    """
    return _heard(lines, page).marks


def _heard(lines: Iterable[str], page: int) -> "_Processes":
    processes = _Processes(page)
    for line in lines:
        if found := _LINE.match(line):
            processes.hear(int(found[1]), found[2].rstrip())
    return processes


@dataclass
class _Call:
    name: str
    words: str
    taken: Mapping | None = None
    """What mremap() takes from where it was."""

    @property
    def numbers(self) -> list[int]:
        """Its first three arguments; 0 for one that is no number."""
        return [_number(word) for word in self.words.split(", ")[:3]]


class _Processes:
    def __init__(self, page: int) -> None:
        self._page = page
        self._spaces: dict[int, AddressSpace] = {}
        self._calls: dict[int, _Call] = {}
        self._replaced = 0
        self.marks: dict[int, int] = {}

    @property
    def most(self) -> int:
        return max([self._replaced, *(space.most for space in self._spaces.values())])

    def hear(self, process: int, said: str) -> None:
        """One line. A call that another process's line came into has two, its beginning and its end."""
        if process not in self._spaces:
            self._spaces[process] = self._born()
        space = self._spaces[process]
        if found := _BEGUN.match(said):
            self._calls[process] = _begin(space, _Call(found[1], found[2]))
        elif (found := _RESUMED.match(said)) and process in self._calls:
            call = self._calls.pop(process)
            call.words += found[2]
            self._end(process, call, found[3])
        elif found := _WHOLE.match(said):
            self._end(process, _begin(space, _Call(found[1], found[2])), found[3])

    def _born(self) -> AddressSpace:
        """Of one that is heard before its parent says that it made it. The first has no parent."""
        makers = [(self._spaces[maker], call) for maker, call in self._calls.items() if call.name in _FORKS]
        return _child(*makers[-1]) if makers else AddressSpace(self._page)

    def _end(self, process: int, call: _Call, result: str) -> None:
        space = self._spaces[process]
        if call.name == _MARK:
            self.marks[_number(call.words.split(", ")[3])] = space.asked
        elif call.name == "mremap":
            _remap(space, call, result)
        elif not result.startswith("-") and result != "?":
            if call.name in _FORKS:
                self._spaces.setdefault(int(result), _child(space, call))
            elif call.name.startswith("execve"):
                self._replaced = max(self._replaced, space.most)
                self._spaces[process] = AddressSpace(self._page)
            else:
                _change(space, call, result)


def _begin(space: AddressSpace, call: _Call) -> _Call:
    """Acts on what it unmaps: others may get that before the line with its end."""
    if call.name in ("munmap", "mremap"):
        start, size, *_ = call.numbers
        end = space.end(start, size)
        if (known := space.at(start)) is not None:
            call.taken = Mapping(end, known.asked, known.writable)
        space.remove(start, end)
    return call


def _change(space: AddressSpace, call: _Call, result: str) -> None:
    writable = "PROT_WRITE" in call.words
    if call.name == "brk":
        space.set_break(int(result, 16))
    elif call.name == "mmap":
        start = int(result, 16)
        end = space.end(start, call.numbers[1])
        space.add(start, Mapping(end, _is_asked(space, start, call.words), writable))
    elif call.name in ("mprotect", "pkey_mprotect"):
        start, size, *_ = call.numbers
        space.protect(start, space.end(start, size), writable=writable)


def _is_asked(space: AddressSpace, start: int, words: str) -> bool:
    if "MAP_ANONYMOUS" not in words or "MAP_PRIVATE" not in words or "MAP_STACK" in words:
        return False
    # What a loader puts over the end of the mapping of a library is the library's static data.
    under = space.at(start) if "MAP_FIXED" in words else None
    return under is None or under.asked


def _remap(space: AddressSpace, call: _Call, result: str) -> None:
    if call.taken is None:
        return
    if result.startswith("-"):
        space.add(call.numbers[0], call.taken)
        return
    start = int(result, 16)
    end = space.end(start, call.numbers[2])
    space.add(start, Mapping(end, call.taken.asked, call.taken.writable))


def _child(space: AddressSpace, call: _Call) -> AddressSpace:
    return space if "CLONE_VM" in call.words or call.name == "vfork" else space.copy()


def _number(word: str) -> int:
    try:
        return int(word, 0)
    except ValueError:
        return 0
