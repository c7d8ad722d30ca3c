"""Allocators whose calls a recording does not have, because they have functions of their own."""

from collections.abc import Iterable

from reap.allocators import own_functions
from reap.recording.records import UnrecordedAllocator


def unrecorded(modules: Iterable[str], providers: Iterable[str]) -> list[UnrecordedAllocator]:
    """The allocators in `modules`, files of the recorded program, whose calls were not recorded.

    `providers` are the files that serve malloc: what they define counts only if another file calls it.
    Files that are gone say nothing. Takes some milliseconds for each file.
    """
    serving = {path for path in providers if path}
    files = {path: own_functions.read(path) for path in sorted({*modules, *serving}) if path.startswith("/")}
    found = [
        UnrecordedAllocator(module=path, allocator=allocator, function=function)
        for path, own in files.items()
        if path not in serving
        for allocator, function in own.defined.items()
    ]
    for path in sorted(serving & files.keys()):
        others = [own.wanted for each, own in files.items() if each != path]
        for allocator in files[path].defined:
            called = [names[allocator] for names in others if allocator in names]
            if called:
                found.append(UnrecordedAllocator(module=path, allocator=allocator, function=min(called)))
    return found


def note(each: UnrecordedAllocator) -> str:
    """What an allocator that was not recorded means for each figure: one sentence."""
    name = each.module.rpartition("/")[2]
    by = f" ({each.function})" if each.function else ""
    figures = "no count, site, leak or most in use has their blocks; no limit of a check covers them"
    return f"Calls of {each.allocator}'s own functions in {name}{by} are not recorded: {figures}."
