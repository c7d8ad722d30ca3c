"""Has an allocator that is linked into a program stand aside for a preloaded one, for trials.

No preload replaces such an allocator: the program's calls are bound already. But the functions by which it
allocates and frees can begin with a jump to those of another one (lab/preload/redirect). That takes their
names, which a stripped file does not have, and all of them: a block that one function allocates is freed by
another. Nothing stands aside in a program that allocates from first-class heaps.
"""

import functools
import os
import re
import struct
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from elftools.elf.elffile import ELFFile

from reap.allocators import elf
from reap.base.files import opened_regular
from reap.base.records import Record
from reap.launch.linked import own_heaps, recognise

VARIABLE = "REAP_REDIRECT"
"""Tells the preload what to do: see lab/preload/redirect/redirect.cpp."""

_STANDARD = {
    "malloc": "malloc",
    "free|cfree|free_sized|free_aligned_sized": "free",
    "calloc": "calloc",
    "realloc": "realloc",
    "reallocarray": "reallocarray",
    "posix_memalign": "posix_memalign",
    "memalign": "memalign",
    "aligned_alloc": "aligned_alloc",
    "valloc|pvalloc": "page_aligned",
    "malloc_usable_size": "usable",
}
_JEMALLOC = {
    "mallocx": "mallocx",
    "rallocx": "rallocx",
    "xallocx": "xallocx",
    "sallocx": "usable",
    "nallocx": "same",
    "dallocx|sdallocx": "free",
}
_JEMALLOC_PRIVATE = {r"(?:\w+_)?sdallocx_noflags": "free"}
_JEMALLOC_CPP = {
    "_Zn[wa]m(?:RKSt9nothrow_t)?": "malloc",
    "_Zn[wa]mSt11align_val_t(?:RKSt9nothrow_t)?": "malloc_aligned",
    "_Zd[la]Pvm?(?:St11align_val_t)?(?:RKSt9nothrow_t)?": "free",
}
"""C++'s operators of jemalloc's own file, which do not call its malloc ..."""
_JEMALLOC_FILE = "jemalloc_cpp."
"""... where the table has this file, source or object: others are the program's, and call malloc."""
_MIMALLOC = {
    "mi_(?:malloc|malloc_small|new|new_nothrow)": "malloc",
    "mi_(?:zalloc|zalloc_small)": "zalloc",
    "mi_calloc": "calloc",
    "mi_(?:mallocn|new_n)": "mallocn",
    "mi_(?:realloc|rezalloc|new_realloc)": "realloc",
    "mi_reallocf": "reallocf",
    "mi_(?:reallocn|recalloc|reallocarray|new_reallocn)": "reallocarray",
    "mi_(?:free|cfree|free_size|free_aligned|free_size_aligned)": "free",
    "mi_(?:usable_size|malloc_usable_size|malloc_size)": "usable",
    "mi_(?:good_size|malloc_good_size)": "same",
    "mi_(?:malloc_aligned|new_aligned|new_aligned_nothrow)": "malloc_aligned",
    "mi_zalloc_aligned": "zalloc_aligned",
    "mi_calloc_aligned": "calloc_aligned",
    "mi_(?:realloc_aligned|rezalloc_aligned)": "realloc_aligned",
    "mi_posix_memalign": "posix_memalign",
    "mi_memalign": "memalign",
    "mi_aligned_alloc": "aligned_alloc",
    "mi_(?:valloc|pvalloc)": "page_aligned",
    "mi_strdup": "copied",
    "mi_strndup": "copied_most",
}
_TCMALLOC = {
    "tc_(?:malloc|malloc_skip_new_handler|new|newarray|new_nothrow|newarray_nothrow)": "malloc",
    "tc_(?:free|cfree|free_sized|delete|deletearray)(?:_sized|_nothrow|_aligned|_sized_aligned)?": "free",
    "tc_calloc": "calloc",
    "tc_realloc": "realloc",
    "tc_(?:new|newarray)_aligned(?:_nothrow)?": "malloc_aligned",
    "tc_posix_memalign": "posix_memalign",
    "tc_memalign": "memalign",
    "tc_(?:valloc|pvalloc)": "page_aligned",
    "tc_malloc_size": "usable",
}
_SNMALLOC = {
    "sn_rust_alloc": "memalign",
    "sn_rust_alloc_zeroed": "rust_zeroed",
    "sn_rust_dealloc": "free",
    "sn_rust_realloc": "rust_realloc",
}
_RPMALLOC = {
    "rpmalloc": "malloc",
    "rpfree": "free",
    "rpcalloc": "calloc",
    "rprealloc": "realloc",
    "rpaligned_alloc|rpmemalign": "memalign",
    "rpaligned_realloc": "realloc_second",
    "rpposix_memalign": "posix_memalign",
    "rpmalloc_usable_size": "usable",
}
FAMILIES = {
    "jemalloc": {**_STANDARD, **_JEMALLOC},
    "mimalloc": {**_STANDARD, **_MIMALLOC},
    "tcmalloc": {**_STANDARD, **_TCMALLOC},
    "snmalloc": {**_STANDARD, **_SNMALLOC},
    "rpmalloc": {**_STANDARD, **_RPMALLOC},
}
"""By the allocator: patterns of its functions' names, and what the preload has in their place."""

_JUMP = 14
"""Bytes of a jump. A function without room for one, up to the next, goes on in another one."""
_SYMBOL = struct.Struct("<IBBHQQ")
_TYPE = 15
_CODE = frozenset({2, 10})
"""Functions, and those that a resolver chooses."""
_UNDEFINED = 0


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
    except (OSError, elf.NotElfError, *elf.TABLE_ERRORS):
        return None


@functools.lru_cache(maxsize=64)
def _find(program: str, changed: int, size: int) -> Redirect | None:  # noqa: ARG001 - as a key
    found = recognise.find(program, program=True)
    known = [each.name for each in found if each.seen and each.name in FAMILIES]
    if len(found) != 1 or len(known) != 1:
        return None
    (allocator,) = known
    with opened_regular(program) as file:
        table = [symbol for each in elf.symbol_tables(ELFFile(file)) for symbol in each.defined()]
    names = {name for name, _, _ in table}
    patterns = FAMILIES[allocator]
    if allocator == "jemalloc":
        patterns = _of_jemalloc(patterns, names)
    places = _places(table, patterns)
    if not {"free", "realloc"} & set(places.values()) or own_heaps.used(program, table):
        return None
    return Redirect(
        program=program,
        allocator=allocator,
        own_malloc="malloc" in names,
        functions=[(function, at) for at, function in sorted(places.items())],
    )


def _places(table: Sequence[tuple[str, int, int]], patterns: Mapping[str, str]) -> dict[int, str]:
    """Starts of the functions of these names that have space for a jump, with what is in their place."""
    compiled = [(re.compile(pattern), function) for pattern, function in patterns.items()]
    begins = sorted({at for _, kind, at in table if kind in _CODE})
    room = {at: following - at for at, following in pairwise(begins)}
    places: dict[int, str] = {}
    for name, kind, at in table:
        if kind not in _CODE or room.get(at, _JUMP) < _JUMP:
            continue
        function = next((function for pattern, function in compiled if pattern.fullmatch(name)), None)
        if function is not None:
            places[at] = function
    return places


def _of_jemalloc(patterns: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """The patterns with the prefix of this build's names, and with what only jemalloc has."""
    prefixes = [name.removesuffix("mallocx") for name in names if name.endswith("mallocx")]
    known = sorted(re.escape(each) for each in prefixes if f"{each}mallctl" in names)
    prefix = "|".join(known)
    found = {f"(?:{prefix})(?:{pattern})": function for pattern, function in patterns.items()}
    own_operators = any(name.startswith(_JEMALLOC_FILE) for name in names)
    return {**found, **_JEMALLOC_PRIVATE, **(_JEMALLOC_CPP if own_operators else {})}
