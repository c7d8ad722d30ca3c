"""Allocators whose calls a recording does not have, because they have functions of their own."""

from collections.abc import Collection, Iterable

from reap import native
from reap.allocators import own_functions
from reap.recording.records import UnrecordedAllocator

_BITS = {
    "jemalloc": native.OWN_JEMALLOC,
    "mimalloc": native.OWN_MIMALLOC,
    "tcmalloc": native.OWN_TCMALLOC,
}


def unrecorded(
    modules: Iterable[str],
    providers: Iterable[str],
    recorded: Iterable[tuple[str, int]] = (),
    watched: Collection[str] = (),
) -> list[UnrecordedAllocator]:
    """The allocators in `modules`, files of the recorded program, whose calls were not recorded.

    `providers` are the files that serve malloc: what they define counts only if another file calls it.
    `recorded` are the files that call or define functions that were recorded, each with the sum of the
    allocators' bits (see `native.Recording.modules`). `watched` are files whose calls were watched from
    outside, as far as their functions have names. Files that are gone say nothing. Takes some milliseconds
    for each file.
    """
    bits: dict[str, int] = {}
    for path, each_bits in recorded:  # in every process that loaded the file
        bits[path] = bits.get(path, each_bits) & each_bits
    serving = {path for path in providers if path}
    files = {path: own_functions.read(path) for path in sorted({*modules, *serving}) if path.startswith("/")}
    found = [
        UnrecordedAllocator(
            module=path, allocator=allocator, function=function, watched=bool(function) and path in watched
        )
        for path, own in files.items()
        if path not in serving
        for allocator, function in own.defined.items()
        if not bits.get(path, 0) & _BITS.get(allocator, 0)
    ]
    for path, own in files.items():
        for allocator in own.defined:
            bit = _BITS.get(allocator, 0)
            if path not in serving and not bits.get(path, 0) & bit:
                continue
            called = [
                other.wanted[allocator]
                for each, other in files.items()
                if each != path and allocator in other.wanted and not bits.get(each, 0) & bit
            ]
            if called:
                found.append(UnrecordedAllocator(module=path, allocator=allocator, function=min(called)))
    return found


def note(each: UnrecordedAllocator) -> str:
    """Note on what an allocator that was not recorded means for each figure."""
    name = each.module.rpartition("/")[2]
    by = f" ({each.function})" if each.function else ""
    figures = "no count, site, leak or most in use has their blocks; no limit of a check covers them"
    if each.watched:
        figures = (
            "estimated by uprobes (*Linked allocators*), and in no other figure; nothing is known of leaks"
        )
        more = "and most in use, and no limit of a check covers them"
        return f"Calls of {each.allocator}'s own functions in {name}{by} are {figures} {more}."
    instead = " As root `reap record` estimates them by uprobes." if each.function else ""
    return f"Calls of {each.allocator}'s own functions in {name}{by} are not recorded: {figures}.{instead}"
