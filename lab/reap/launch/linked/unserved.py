"""Functions of a linked allocator that no other allocator can stand in for.

A block of a first-class heap comes from the other allocator, like every block: a heap that is freed with all
its blocks, or is asked for them, has none. Such functions are in every program with that allocator, so that
only a call by the program's own code says that it needs them.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence

from reap import native

_UNSERVED = re.compile(
    r"mi_t?heap_(?:destroy|visit_\w+|contains\w*|check_owned|realpath)|rpmalloc_heap_free_all"
    r"|mi_(?:any_heap_contains|heap_of|check_owned)|mi_(?:t?heap_)?u(?:m|z|c|re)alloc\w*"
)
"""They free a heap's blocks, ask for them, or allocate and have nothing in their place (`redirect`)."""
_OWN = re.compile(
    r"_?mi_|_?rp(?:malloc|realloc|calloc|aligned)|_Zn[wa]"
    r"|_*(?:libc_|posix_)?(?:p?valloc|memalign|aligned_m?alloc|strn?dup|realpath)$"
)
"""The allocator's own functions, and those of the C library that it replaces: they call these, too."""
_CALL = re.compile(rb"[\xe8\xe9]")
"""A call or a jump to a distance of four bytes."""
_LENGTH = 5


def used(program: native.ElfFile, symbols: Sequence[tuple[str, int, int]]) -> bool:
    """Whether a program of x86-64 calls such a function.

    `symbols` are its names, types and addresses. Calls through a pointer are not seen. Takes 50 ms a MB of
    code, and nothing without such functions. Throws `elf.NotElfError`.
    """
    targets = {at for name, _, at in symbols if _UNSERVED.fullmatch(name)}
    if not targets:
        return False
    own = {at for name, _, at in symbols if _OWN.match(name)}
    begins = sorted({at for _, _, at in symbols})
    return any(
        _function(begins, caller) not in own
        for base, code in program.code()
        for caller in _callers(code, base, targets)
    )


def _callers(code: bytes, base: int, targets: Collection[int]) -> list[int]:
    """Addresses of the calls of these functions."""
    found = []
    for match in _CALL.finditer(code, 0, max(0, len(code) - _LENGTH + 1)):
        at = match.start()
        distance = int.from_bytes(code[at + 1 : at + _LENGTH], "little", signed=True)
        if base + at + _LENGTH + distance in targets:
            found.append(base + at)
    return found


def _function(begins: Sequence[int], address: int) -> int:
    """Start of the function that an address is in."""
    return begins[max(0, bisect_right(begins, address) - 1)]
