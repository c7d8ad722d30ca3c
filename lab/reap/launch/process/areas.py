"""Reads the mappings of a process from /proc/PID/smaps, and adds them up by kind and owner."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from reap.launch.process.records import Kernel

_NEXT = re.compile(r"\n(?=[0-9a-f])")
_SIZE = re.compile(
    r"^(Rss|Pss|Shared_Clean|Shared_Dirty|Anonymous|LazyFree|AnonHugePages|Swap): +(\d+) kB", re.MULTILINE
)
_SHARED = ("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero", "/anon_hugepage")  # noqa: S108 - names, not files

ARENAS, BELOW = "arenas", "below"
"""Claims that are no parts of their own: they are a part of `anonymous`, or of `stack`."""

Claims = Mapping[int, Mapping[str, int]]
"""Resident bytes by owner, of each mapping by its first address."""


class Area(NamedTuple):
    """One mapping. Sizes in bytes."""

    begin: int
    end: int
    rights: str
    """As `rw-p`."""
    offset: int
    """In the file."""
    name: str
    resident: int
    proportional: int
    """PSS: each page divided by the number of processes that map it."""
    private: int
    """Mapped by no other process."""
    anonymous: int
    lazy_free: int
    huge: int
    swap: int

    @property
    def unnamed(self) -> bool:
        """Whether it is private memory of no file, which its owner has given no name."""
        return not self.name and self.rights.endswith("p")


def parse(text: str, known: dict[str, Area] | None = None) -> list[Area]:
    """The mappings in a text like /proc/PID/smaps, in order of address. About 10 us each.

    Those of `known` cost a tenth of that; it is replaced by what the text has.

    The kernel writes it a page at a time, and starts again with a mapping that has grown meanwhile: of two
    that begin at one address, the second counts.
    """
    before = known or {}
    blocks = {block: before.get(block) or _area(block) for block in _NEXT.split(text) if block}
    if known is not None:
        known.clear()
        known.update(blocks)
    return list({area.begin: area for area in blocks.values()}.values())


def _area(block: str) -> Area:
    head, _, body = block.partition("\n")
    fields = head.split(maxsplit=5)
    begin, _, end = fields[0].partition("-")
    sizes = {name: int(size) << 10 for name, size in _SIZE.findall(body)}
    resident = sizes.get("Rss", 0)
    return Area(
        begin=int(begin, 16),
        end=int(end, 16),
        rights=fields[1],
        offset=int(fields[2], 16),
        name=fields[5].rstrip() if len(fields) > 5 else "",
        resident=resident,
        proportional=sizes.get("Pss", resident),
        private=resident - sizes.get("Shared_Clean", 0) - sizes.get("Shared_Dirty", 0),
        anonymous=sizes.get("Anonymous", 0),
        lazy_free=sizes.get("LazyFree", 0),
        huge=sizes.get("AnonHugePages", 0),
        swap=sizes.get("Swap", 0),
    )


def summed(areas: Sequence[Area], claims: Claims) -> tuple[Kernel, Kernel]:
    """Sums of the mappings by kind and owner: resident memory, and PSS."""
    totals = dict.fromkeys(Kernel.__struct_fields__, 0)
    shares = totals.copy()
    for area in areas:
        resident, proportional = area.resident, area.proportional
        totals["swap"] += area.swap
        if not resident:
            continue
        for sums, whole in ((totals, resident), (shares, proportional)):
            sums["resident"] += whole
        totals["private"] += area.private
        totals["huge"] += area.huge
        if area.anonymous > area.private and area.rights.endswith("p"):
            totals["inherited"] += area.anonymous - area.private
        kind = _kind(area)
        left, left_of_shares = resident, proportional
        for owner, size in _split(area, kind, claims.get(area.begin, {})):
            part = min(size, left)
            share = min(part * proportional // resident, left_of_shares)
            totals[owner] += part
            shares[owner] += share
            if owner not in {ARENAS, BELOW}:
                left, left_of_shares = left - part, left_of_shares - share
        totals[kind] += left
        shares[kind] += left_of_shares
    return Kernel(**totals), Kernel(**shares)


def _split(area: Area, kind: str, claims: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Parts of a mapping that are not of its kind."""
    if area.lazy_free:
        yield "lazy_free", area.lazy_free
    yield from claims.items()
    if kind == "files":
        yield "written", area.anonymous - area.lazy_free


def _kind(area: Area) -> str:
    name = area.name
    if name == "[heap]":
        return "heap"
    if name.startswith("[stack"):
        return "stack"
    if name.startswith(_SHARED) and not (area.rights.endswith("p") and area.anonymous == area.resident):
        return "shared"
    if not name or name.startswith("[anon"):
        return "anonymous" if area.rights.endswith("p") else "shared"
    return "files"


def copied(child: Sequence[Area], parent: Sequence[Area]) -> int:
    """Bytes of memory that a process shared with its parent after the fork, and has copies of now.

    At most: memory that it has allocated since, at addresses that its parent has, too, counts. Of processes
    that are `forked`.
    """
    theirs = {area.begin: area for area in parent if area.anonymous}
    return sum(
        min(area.private, area.anonymous, theirs[area.begin].resident)
        for area in child
        if area.begin in theirs and area.rights.endswith("p")
    )


def forked(child: Sequence[Area], parent: Sequence[Area]) -> bool:
    """Whether neither has executed a program since the fork.

    Both have the stack and the kernel's page at the same, random, addresses.
    """
    places = _places(child)
    return bool(places) and places == _places(parent)


def _places(areas: Sequence[Area]) -> list[int]:
    return [area.end for area in areas if area.name in {"[stack]", "[vdso]"}]
