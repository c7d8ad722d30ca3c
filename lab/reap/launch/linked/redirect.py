"""Has an allocator that is linked into a program stand aside for a preloaded one, for trials.

No preload replaces such an allocator: the program's calls are bound already. But the functions by which it
allocates and frees can begin with a jump to those of another one (lab/preload/redirect). That takes their
names, which a stripped file does not have, and all of them: a block that one function allocates is freed by
another. Nothing stands aside in a program that frees a heap with all its blocks.
"""

import functools
import os
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from reap import native
from reap.allocators import elf
from reap.base.records import Record
from reap.launch.linked import recognise, unserved

VARIABLE = "REAP_REDIRECT"
"""Tells the preload what to do: see lab/preload/redirect/redirect.cpp."""

_REPLACEMENTS = {
    native.ALLOCATES: {
        "s": "malloc",
        "ns": "mallocn",
        "sa": "malloc_aligned",
        "as": "memalign",
        "oas": "posix_memalign",
        "sf": "mallocx",
        "t": "copied",
        "tm": "copied_most",
    },
    native.ZEROES: {
        "s": "zalloc",
        "ns": "calloc",
        "sa": "zalloc_aligned",
        "as": "zalloc_first",
        "nsa": "calloc_aligned",
        "ans": "calloc_first",
    },
    native.ALLOCATES_PAGES: {"s": "page_aligned"},
    native.RESIZES: {
        "ps": "realloc",
        "pns": "reallocarray",
        "psa": "realloc_aligned",
        "pas": "realloc_second",
        "psf": "rallocx",
        "pnsa": "reallocarray_aligned",
        "pa-s": "rust_realloc",
    },
    native.FREES: {"p": "free", "pf": "free", "p-f": "free"},
}
"""What the preload has in place of a function that does this with these arguments, without the last ones that
it ignores: see lab/format/reap_own_functions.h. With a heap before them `heap_` is in front of it."""
_WITH_BLOCK_SIZE = (
    *("malloc", "malloc_small", "malloc_aligned", "zalloc_small", "zalloc_aligned"),
    *("calloc", "realloc", "free"),
)
"""Functions of mimalloc that say the size of the block, too, begin with u: nothing is in their place."""
_OTHERS = {
    "jemalloc": {"xallocx": "xallocx", "sallocx": "usable", "nallocx": "same"},
    "mimalloc": {
        "reallocf": "reallocf",
        "heap_reallocf": "heap_reallocf",
        **dict.fromkeys(("usable_size", "malloc_usable_size", "malloc_size"), "usable"),
        **dict.fromkeys(("good_size", "malloc_good_size"), "same"),
        **dict.fromkeys((f"u{name}" for name in _WITH_BLOCK_SIZE), ""),
    },
    "tcmalloc": {"malloc_size": "usable"},
    "snmalloc": {"malloc_usable_size": "usable", "rust_usable_size": "usable"},
    "rpmalloc": {"malloc_usable_size": "usable"},
}
"""Functions that only ask, or do more than their arguments say."""
PREFIXES = {"jemalloc": "", "mimalloc": "mi_", "tcmalloc": "tc_", "snmalloc": "sn_", "rpmalloc": "rp"}
"""In front of an allocator's own names; of jemalloc a build may have another one."""
_LIBC = "libc"
_OPERATORS = "_Z"
_JEMALLOC_PRIVATE = "sdallocx_noflags"
"""End of the name of what jemalloc's operators call."""
_JEMALLOC_FILE = "jemalloc_cpp."
"""Where the table has this file, source or object, C++'s operators are jemalloc's own, which do not call its
malloc: others are the program's, and do."""

_JUMP = 14
"""Bytes of a jump. A function without room for one, up to the next, goes on in another one."""
_CODE = frozenset({native.FUNCTION, native.RESOLVED_FUNCTION})
"""Functions, and those that a resolver chooses."""


class Redirect(Record):
    """Functions of a program that are redirected."""

    program: str
    """The file."""
    allocator: str
    """Which is linked into it."""
    own_malloc: bool
    """Whether it serves malloc there, and not only functions of its own."""
    functions: list[tuple[str, int]]
    """What the preload has in place of each, and where that is from the begin of the program."""

    def variables(self, library: str) -> dict[str, str]:
        """Variables that tell the preload to have this allocator's file in its place, as it is preloaded."""
        status = Path(self.program).stat()
        words = ",".join(f"{name}={at:x}" for name, at in self.functions)
        return {VARIABLE: f"{status.st_dev}:{status.st_ino}:{int(self.own_malloc)}:{library}|{words}"}


def find(program: str) -> Redirect | None:
    """Finds what can be redirected in a program's file; None where nothing needs to be, or can be.

    Reads the symbols of a program that has an allocator linked in, once: 0.1 s for 100,000 of them.
    """
    if os.uname().machine != "x86_64":
        return None
    try:
        status = Path(program).stat()
        return _find(program, status.st_mtime_ns, status.st_size)
    except (OSError, elf.NotElfError):
        return None


@functools.lru_cache(maxsize=64)
def _find(program: str, changed: int, size: int) -> Redirect | None:  # noqa: ARG001 - as a key
    found = recognise.find(program, program=True)
    known = [each.name for each in found if each.seen and each.name in PREFIXES]
    if len(found) != 1 or len(known) != 1:
        return None
    (allocator,) = known
    file = elf.opened(program)
    table = [symbol for each in file.symbol_tables() for symbol in each.defined()]
    names = {name for name, _, _ in table}
    wanted = _of_jemalloc(names) if allocator == "jemalloc" else replacements(allocator)
    places = _places(table, wanted)
    if not {"free", "realloc"} & set(places.values()) or unserved.used(file, table):
        return None
    return Redirect(
        program=program,
        allocator=allocator,
        own_malloc="malloc" in names,
        functions=[(function, at) for at, function in sorted(places.items())],
    )


def replacements(allocator: str) -> dict[str, str]:
    """Names of an allocator's functions, those of C among them, with what the preload has in their place."""
    prefix = PREFIXES[allocator]
    named = {name: _replacement(*does) for name, does in native.known_functions(allocator).items()}
    own = {prefix + name: function for name, function in {**named, **_OTHERS[allocator]}.items() if function}
    plain = {name: _replacement(*does) for name, does in native.known_functions(_LIBC).items()}
    return {**plain, "malloc_usable_size": "usable", **own}


def _replacement(kind: int, arguments: str) -> str:
    """Name of what the preload has in place of a function; empty: nothing."""
    passed = arguments.removeprefix("!")
    function = _REPLACEMENTS[kind].get(passed.strip("-"), "")
    return f"heap_{function}" if function and passed.startswith("-") else function


def _places(table: Sequence[tuple[str, int, int]], wanted: Mapping[str, str]) -> dict[int, str]:
    """Starts of the functions of these names that have space for a jump, with what is in their place."""
    begins = sorted({at for _, kind, at in table if kind in _CODE})
    room = {at: following - at for at, following in pairwise(begins)}
    places: dict[int, str] = {}
    for name, kind, at in table:
        if kind not in _CODE or room.get(at, _JUMP) < _JUMP:
            continue
        function = wanted.get(name)
        if function is not None:
            places[at] = function
    return places


def _of_jemalloc(names: Collection[str]) -> dict[str, str]:
    """The functions with the prefix of this build's names, and what only jemalloc has."""
    prefixes = [name.removesuffix("mallocx") for name in names if name.endswith("mallocx")]
    functions = replacements("jemalloc")
    found = {
        prefix + name: function
        for prefix in prefixes
        if f"{prefix}mallctl" in names
        for name, function in functions.items()
    }
    found |= dict.fromkeys((name for name in names if name.endswith(_JEMALLOC_PRIVATE)), "free")
    if any(name.startswith(_JEMALLOC_FILE) for name in names):
        operators = native.known_functions("").items()
        found |= {name: _replacement(*does) for name, does in operators if name.startswith(_OPERATORS)}
    return found
