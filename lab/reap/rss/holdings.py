"""Resident memory by allocator, from what each reported of itself. Pure arithmetic."""

from collections.abc import Sequence

from msgspec.structs import replace

from reap.launch.process.records import Kernel, Linked, Said
from reap.rss.records import Owner, Parts


class Pool:
    """Resident memory that is given away part by part, and never more than there is."""

    def __init__(self, size: int) -> None:
        self._left = max(size, 0)

    def take(self, wanted: int) -> int:
        """So many bytes, or what is left; none where it is less than none."""
        part = min(max(wanted, 0), self._left)
        self._left -= part
        return part

    def rest(self) -> int:
        """Takes all that is left."""
        return self.take(self._left)


def _jemalloc(of: dict[str, int], pool: Pool) -> dict[str, int]:
    """`allocated` has what its thread caches hold, too; a build without statistics does not report it."""
    held = pool.take(of.get("dirty", 0))
    if "allocated" not in of:
        return {"heap": pool.take(of.get("active", 0)), "held": held}
    allocated, cached = of["allocated"], of.get("thread_caches", 0)
    live = pool.take(allocated - cached)
    inside = pool.take(of.get("active", 0) - allocated + cached + of.get("metadata", 0))
    return {"live": live, "inside": inside, "held": held}


def _tcmalloc(of: dict[str, int], pool: Pool) -> dict[str, int]:
    held = pool.take(of.get("free", 0))
    live = pool.take(of.get("allocated", 0))
    caches = of.get("heap", 0) - of.get("unmapped", 0) - of.get("free", 0) - of.get("allocated", 0)
    return {"live": live, "inside": pool.take(caches), "held": held}


def _committed(of: dict[str, int], pool: Pool) -> dict[str, int]:
    """Mimalloc and snmalloc report what they have committed, and not how much of that is in use."""
    return {"heap": pool.take(of.get("committed", 0))}


HOLDS = {"jemalloc": _jemalloc, "tcmalloc": _tcmalloc, "mimalloc": _committed, "snmalloc": _committed}
"""What of the memory in a pool is an allocator's, by its values."""


def without_foreign(kernel: Kernel, said: Said | None, linked: Sequence[Linked]) -> Kernel:
    """Moves what glibc does not know of from [heap] to anonymous memory: tcmalloc grows [heap], too."""
    if said is None or said.kind != "glibc" or "tcmalloc" not in {each.allocator for each in linked}:
        return kernel
    foreign = max(kernel.heap - said.values.get("arena", 0), 0)
    return replace(kernel, heap=kernel.heap - foreign, anonymous=kernel.anonymous + foreign)


def with_linked(parts: Parts, linked: Sequence[Linked], *, serving: bool) -> tuple[Parts, list[Owner]]:
    """Attributes to linked allocators what they hold of the memory that nobody else accounts for.

    Where no allocator that serves malloc could be asked, [heap] may be theirs.
    """
    owners = []
    for each in linked:
        pool = Pool(parts.other + (0 if serving else parts.heap))
        holds = HOLDS[each.allocator](each.values, pool) if each.values and each.allocator in HOLDS else {}
        background = each.values.get("background_thread")
        owners.append(
            Owner(
                allocator=each.allocator,
                file=each.file,
                function=each.function,
                asked=bool(each.values),
                background=None if background is None else background == 1,
                **holds,
            )
        )
        taken = sum(holds.values())
        of_other = min(taken, parts.other)
        parts = replace(parts, other=parts.other - of_other, heap=parts.heap - (taken - of_other))
        parts = replace(parts, **{name: getattr(parts, name) + size for name, size in holds.items()})
    return parts, owners
