"""Allocator that holds a part of a process's memory: the one that serves malloc, or a linked one."""

from dataclasses import dataclass

from reap.allocators.remedies import table
from reap.base import units
from reap.rss.records import Owner, Residence

JEMALLOC = "MALLOC_CONF"
"""The variable of jemalloc, without the prefix of a build."""


@dataclass(frozen=True)
class Holder:
    """An allocator of a process."""

    allocator: str
    background: bool | None = None
    """jemalloc: whether a background thread returns memory; None where it has none, or was not asked."""
    linked: Owner | None = None
    """None for the one that serves malloc."""

    @property
    def name(self) -> str:
        """Its name, and the file that it is linked into."""
        return _name(self.linked) if self.linked else self.allocator

    @property
    def variable(self) -> str:
        """The one that gives jemalloc its settings: builds with a prefix have one of their own."""
        prefix = self.linked.function.removesuffix("mallctl").upper() if self.linked else ""
        return f"{prefix}{JEMALLOC}"

    def setting(self, remedy: str) -> dict[str, str]:
        """The remedy of jemalloc's of that name, in this variable."""
        return {self.variable: table.named(remedy).environment[JEMALLOC]}


def of(residence: Residence, part: str) -> Holder:
    """The allocator that holds most of a part at the moment that stands for settled memory."""
    last = residence.settled
    linked = max(last.linked, key=lambda each: int(getattr(each, part)), default=None)
    rest = getattr(last.parts, part) - sum(getattr(each, part) for each in last.linked)
    if linked is not None and getattr(linked, part) > rest:
        return Holder(linked.allocator, linked.background, linked)
    return Holder(residence.allocator, residence.background)


def where(residence: Residence, part: str) -> list[str]:
    """A sentence on the linked allocator that holds most of a part; none where it is the other."""
    holder = of(residence, part)
    if holder.linked is None:
        return []
    return [f"{units.size(getattr(holder.linked, part))} of them are in {holder.name}."]


def silent(residence: Residence) -> str:
    """The linked allocators that were not asked, by name; empty if there are none."""
    names = [_name(each) for each in residence.settled.linked if not each.asked]
    return " and ".join(dict.fromkeys(names))


def without_huge_pages(residence: Residence) -> dict[str, dict[str, str]]:
    """The setting of each allocator of the process that uses no huge pages any more, by its name."""
    last = residence.settled
    found = [Holder(residence.allocator), *(Holder(each.allocator, linked=each) for each in last.linked)]
    return {
        each.name: each.setting("no huge pages under jemalloc")
        for each in found
        if each.allocator == "jemalloc"
    }


def _name(owner: Owner) -> str:
    stripped = "" if owner.function else ", stripped of its names"
    return f"{owner.allocator} (linked into {owner.file.rpartition('/')[2]}{stripped})"
