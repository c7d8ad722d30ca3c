"""Is this file an allocator that can be preloaded?"""

import errno
import functools
import os
from importlib.resources import files
from pathlib import Path

from reap.allocators import elf
from reap.allocators.records import ALIGNED_ALLOC, FUNCTIONS, MALLOC, Allocator
from reap.base.errors import ExitCode, ReapError

_ESSENTIAL = (MALLOC, "free", "calloc", "realloc", "posix_memalign")
"""Without one of these, ordinary programs get a block from one heap and give it to another."""

ALIGNED = Path(str(files("reap"))) / "lib" / "libreap-aligned.so"
"""What serves aligned_alloc and memalign by what else an allocator has, where it lacks them."""
_STOOD_IN = frozenset({ALIGNED_ALLOC, "memalign"})


@functools.cache
def preloads(library: str) -> tuple[str, ...]:
    """Files to preload so that this one serves malloc, in order; none for the C library's own."""
    if not library:
        return ()
    try:
        found = elf.read(library, frozenset(FUNCTIONS)).exports
    except (OSError, elf.NotElfError):
        return (library,)  # whoever preloads it is told what is wrong with it
    stands_in = found.issuperset(_ESSENTIAL) and not found.issuperset(_STOOD_IN)
    return (library, str(ALIGNED)) if stands_in else (library,)


def names(path: str) -> set[str]:
    """Its file as the loader names it and, where that is a link, as the kernel names it."""
    return {path, os.path.realpath(path)}


def examine(name: str, path: str) -> Allocator:
    """Reads the file and says that it is an allocator, or throws a ReapError that says why not."""
    library = Path(path).absolute()
    facts = _read(name, library)
    if facts.kind != "DYN" or not facts.dynamic:
        raise _refusal(name, library, "is not a shared library", "give the allocator's .so file")
    if not facts.native:
        raise _refusal(
            name,
            library,
            f"is for another machine ({facts.machine}, {facts.bits}-bit)",
            "build or install it for this machine",
        )
    if MALLOC not in facts.exports:
        raise _refusal(
            name,
            library,
            "is no allocator: it exports no malloc",
            "build it to replace malloc (many allocators have a separate library or switch for that)",
        )
    lacking = [function for function in FUNCTIONS if function not in facts.exports]
    if fatal := [function for function in lacking if function in _ESSENTIAL]:
        raise _refusal(
            name,
            library,
            f"lacks {_list(fatal)}: blocks of two heaps would be mixed, and programs would crash",
            f"add {_list(fatal)} to the allocator",
        )
    notes = []
    instead = "posix_memalign" if "memalign" in lacking else "memalign"
    for function in [each for each in lacking if each in _STOOD_IN]:
        lacking.remove(function)
        notes.append(f"{name} lacks {function}, which is served by its {instead}")
    if lacking:
        notes.append(f"{name} lacks {_list(lacking)}; a program that uses it would mix two heaps")
    return Allocator(name=name, library=str(library), notes=notes)


def _read(name: str, library: Path) -> elf.Elf:
    try:
        return elf.read(library, frozenset(FUNCTIONS))
    except FileNotFoundError:
        raise _refusal(name, library, "does not exist", "check the path") from None
    except PermissionError:
        raise _refusal(name, library, "cannot be read: permission denied", f"chmod a+r {library}") from None
    except OSError as error:
        if error.errno == errno.EINVAL:
            what = "is a folder" if library.is_dir() else "is no regular file"
            raise _refusal(name, library, what, "give the allocator's .so file") from None
        raise _refusal(name, library, f"cannot be read: {error.strerror}", "") from error
    except elf.NotElfError as error:
        raise _refusal(name, library, str(error), "give the allocator's .so file") from error


def _refusal(name: str, library: Path, what: str, hint: str) -> ReapError:
    return ReapError(f"allocator {name}: {library} {what}", hint, ExitCode.USAGE)


def _list(functions: list[str]) -> str:
    return " and ".join([", ".join(functions[:-1]), functions[-1]]) if len(functions) > 1 else functions[0]
