"""The memory of several processes at one moment, and that of one forked from another. Pure arithmetic."""

from collections.abc import Sequence

from msgspec.structs import replace

from reap.launch.process.records import OWNERS, Kernel, Moment
from reap.rss.records import Owner, Parts, Taken

_OWN = ("stack", "files", "written", "shared", "lazy_free", *OWNERS)
_MIXED = tuple(name for name in Parts.__struct_fields__ if name not in _OWN)
"""The parts that fields of `Kernel` are, and those that lie together in its `heap` and `anonymous`."""
_OF_OWNERS = ("live", "inside", "held", "heap")
"""The parts that an `Owner` has."""


def as_parent(origin: Taken, kernel: Kernel) -> tuple[dict[str, int], list[Owner]]:
    """Divides a forked process's memory without an owner of its own as that of its parent is divided.

    A fork has what its parent had, and copies of that: no thread of ours asks its allocator. Its zero pages
    are known. Returns sizes by part, and what of these linked allocators hold.
    """
    mixed = {name: getattr(origin.parts, name) for name in _MIXED if name != "zeros"}
    size, whole = kernel.heap + kernel.anonymous, sum(mixed.values())
    parts = {name: size * part // whole if whole else 0 for name, part in mixed.items()}
    parts["other"] += size - sum(parts.values())
    return parts, _scaled(origin.linked, size, whole)


def share(moment: Moment, taken: Taken) -> Taken:
    """A process's part in the memory of all together: the same by PSS, else by resident memory.

    What is shared of memory that no field of `Kernel` tells apart is spread over the parts of it.
    """
    kernel, shares = moment.kernel, moment.shares
    if shares is None:
        return taken
    left = shares.heap + shares.anonymous
    whole = kernel.heap + kernel.anonymous
    parts = {name: getattr(shares, name) for name in _OWN}
    for name in _MIXED:
        parts[name] = left * getattr(taken.parts, name) // whole if whole else 0
    parts["other"] += left - sum(parts[name] for name in _MIXED)
    linked = _scaled(taken.linked, left, whole)
    return replace(taken, parts=Parts(**parts), resident=shares.resident, pin=None, heaps=None, linked=linked)


def together(shares: Sequence[Taken]) -> Taken:
    """The memory of processes at one moment, by their `share` in it."""
    fields = Parts.__struct_fields__
    parts = Parts(**{name: sum(getattr(each.parts, name) for each in shares) for name in fields})
    sums = ("resident", "swap", "huge", "private", "inherited", "below", "copied")
    return Taken(
        seconds=shares[0].seconds,
        parts=parts,
        said=any(each.said for each in shares),
        proportional=sum(each.resident for each in shares),
        linked=_joined([owner for each in shares for owner in each.linked]),
        **{name: sum(getattr(each, name) for each in shares) for name in sums},
    )


def _scaled(owners: Sequence[Owner], size: int, whole: int) -> list[Owner]:
    """Owners with their sizes scaled by `size / whole`."""
    return [
        replace(each, **{name: size * getattr(each, name) // whole if whole else 0 for name in _OF_OWNERS})
        for each in owners
    ]


def _joined(owners: Sequence[Owner]) -> list[Owner]:
    """Each linked allocator once, with what it holds in all processes."""
    found: dict[tuple[str, str, str], Owner] = {}
    for each in owners:
        key = each.allocator, each.file, each.function
        if (before := found.get(key)) is None:
            found[key] = each
            continue
        sums = {name: getattr(before, name) + getattr(each, name) for name in _OF_OWNERS}
        found[key] = replace(before if before.asked else each, **sums)
    return list(found.values())
