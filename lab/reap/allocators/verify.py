"""Did the allocator really replace malloc? Judged from what the probe saw in the program itself."""

import os
from pathlib import Path

from reap.allocators.library import ALIGNED
from reap.allocators.records import MALLOC, Allocator
from reap.base.records import Record

DEEPBIND = "RTLD_DEEPBIND"
"""In place of an executable: the program wanted to open libraries so."""

Heap = dict[str, dict[str, str]]
"""What the probe saw: by executable, in the order they started, the file that serves each function."""


class Verification(Record):
    """Result of the check that malloc came from where it should."""

    verified: bool
    provider: str
    """The file that malloc came from in the program itself; empty if the probe saw nothing."""
    problem: str = ""
    """One sentence, where it did not."""
    notes: list[str] = []


def judge(
    allocator: Allocator, heap: Heap, *, replaces: bool = True, aside: bool = False, started: str = ""
) -> Verification:
    """Compares what the probe saw with what was asked for. The first executable is the program's own.

    Where variables or options alone are set, or commands are compared and not allocators (`replaces` is
    False), nothing is to be replaced: any allocator may serve malloc, one in the program too. Where the
    program's own stands `aside` for it, the run would have failed otherwise: the probe cannot see that.
    `started` is the file that was executed: a program that it is a link to has its name.
    """
    if aside or (not allocator.library and (allocator.environment or allocator.options or not replaces)):
        served = next(iter(heap.values()), {})
        return Verification(verified=True, provider=(aside and allocator.library) or served.get(MALLOC, ""))
    if not heap:
        return Verification(
            verified=False,
            provider="",
            problem="where malloc comes from is unknown: the program does not load preloaded libraries",
        )
    executables = [each for each in heap if each != DEEPBIND]
    program = executables[0]
    served = heap[program]
    provider = served.get(MALLOC, "")
    if not serves(allocator, provider):
        return Verification(
            verified=False, provider=provider, problem=_why_not(allocator, program, provider, started)
        )
    # What stands in for a function calls the allocator.
    own = (provider, str(ALIGNED))
    strange = (name for name, file in served.items() if file and not any(_same(file, each) for each in own))
    if mixed := list(strange):
        return Verification(
            verified=False,
            provider=provider,
            problem=f"two heaps are mixed: malloc is from {provider}, but {', '.join(mixed)} from "
            f"{served[mixed[0]]}",
        )
    strays = [each for each in executables[1:] if not serves(allocator, heap[each].get(MALLOC, ""))]
    notes = [
        f"the child program {each} has its malloc from {heap[each].get(MALLOC, '') or 'nowhere'}, "
        f"not from {allocator.name}"
        for each in strays
    ]
    if DEEPBIND in heap and allocator.library:
        notes.append(
            f"{Path(program).name} opens libraries with RTLD_DEEPBIND, which would mix two heaps: under "
            "another allocator they are opened without"
        )
    return Verification(verified=True, provider=provider, notes=notes)


def serves(allocator: Allocator, provider: str) -> bool:
    """Whether malloc from this file is the allocator's; of one without a library, the C library's."""
    if allocator.library:
        return _same(provider, allocator.library)
    return Path(provider).name.startswith(("libc.so", "libc-2"))


def _same(one: str, other: str) -> bool:
    # The preload may be named by a link: compare what the names lead to.
    return bool(one) and os.path.realpath(one) == os.path.realpath(other)


def _why_not(allocator: Allocator, program: str, provider: str, started: str) -> str:
    name = Path(started if _same(started, program) else program).name
    if _same(provider, program):
        return (
            f"{name} brings its own malloc, which a preload cannot replace: "
            f"{allocator.name} would serve nothing"
        )
    if not allocator.library:
        return (
            f"malloc of {name} comes from {provider} without our doing, so the baseline is "
            "that, and not the C library"
        )
    return f"malloc came from {provider or 'nowhere'} although {allocator.library} was preloaded"
