"""What a process has mapped, followed from call to call: how much of it allocators asked for."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Mapping:
    """From its first address up to `end`."""

    end: int
    asked: bool
    """Private, of no file, no stack and no static data: what is asked for to allocate from."""
    writable: bool

    def counted(self, start: int) -> int:
        """Bytes of it that may be used."""
        return self.end - start if self.asked and self.writable else 0


@dataclass
class AddressSpace:
    """What was seen to be mapped; what was there before is not in it. Addresses are of whole pages.

    A call costs time in the number of mappings.
    """

    page: int
    """Its size in bytes."""
    _starts: list[int] = field(default_factory=list)
    _mappings: dict[int, Mapping] = field(default_factory=dict)
    _counted: int = 0
    _first_break: int | None = None
    _last_break: int = 0
    most: int = 0
    """The most bytes that were counted at a time, those of brk() with them."""

    def copy(self) -> "AddressSpace":
        """What a child has that was forked now."""
        copied = AddressSpace(
            self.page,
            list(self._starts),
            dict(self._mappings),
            self._counted,
            self._first_break,
            self._last_break,
        )
        copied._look()
        return copied

    def set_break(self, address: int) -> None:
        """Where the heap of brk() ends; where it did at first, it began."""
        if self._first_break is None:
            self._first_break = address
        self._last_break = address
        self._look()

    def add(self, start: int, made: Mapping) -> None:
        """Maps it, over whatever was there."""
        self.remove(start, made.end)
        self._put(start, made)
        self._look()

    def remove(self, start: int, end: int) -> None:
        """Unmaps what is in there."""
        for at in self._within(start, end):
            self._take(at)

    def protect(self, start: int, end: int, *, writable: bool) -> None:
        """Says of what is in there whether it may be written."""
        for at in self._within(start, end):
            self._put(at, replace(self._take(at), writable=writable))
        self._look()

    def end(self, start: int, size: int) -> int:
        """Where something of that size ends which begins there, its last page included."""
        return start + -(-size // self.page) * self.page

    def at(self, address: int) -> Mapping | None:
        """What is mapped there."""
        place = bisect_right(self._starts, address) - 1
        known = self._mappings[self._starts[place]] if place >= 0 else None
        return known if known and address < known.end else None

    @property
    def asked(self) -> int:
        """The bytes that are counted now, those of brk() with them."""
        return self._counted + self._last_break - (self._first_break or 0)

    def _look(self) -> None:
        self.most = max(self.most, self.asked)

    def _within(self, start: int, end: int) -> list[int]:
        """Where the mappings begin that are in there; those that are so in part are cut in two."""
        for edge in (start, end):
            known = self.at(edge)
            if known is not None and edge not in self._mappings:
                first = self._starts[bisect_right(self._starts, edge) - 1]
                self._put(first, replace(self._take(first), end=edge))
                self._put(edge, known)
        return self._starts[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def _put(self, start: int, made: Mapping) -> None:
        self._starts.insert(bisect_left(self._starts, start), start)
        self._mappings[start] = made
        self._counted += made.counted(start)

    def _take(self, start: int) -> Mapping:
        del self._starts[bisect_left(self._starts, start)]
        known = self._mappings.pop(start)
        self._counted -= known.counted(start)
        return known
