"""System calls of a program by who made them, as far as what strace writes lets one tell. Pure.

strace does not say who called. glibc's malloc is given away by what it asks for: brk is its own, its mappings
are private, anonymous, readable and writable or reserved, and what it unmaps or advises on lies in these.
"""

import re
from collections import Counter
from collections.abc import Iterable

from reap.evidence.records import CALLS, CallCount

WATCHED = ("brk", "mmap", "munmap", "mremap", "madvise", "futex", "execve", "?accept", "accept4",
           "recvfrom", "recvmsg")  # fmt: skip
"""What strace is to write."""

_LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\w+)")
_UNFINISHED = re.compile(r"^(?:\d+ +)?(\w+)\(.*<unfinished \.\.\.>$")
_ANONYMOUS = re.compile(r"^NULL, \d+, (PROT_READ\|PROT_WRITE|PROT_NONE), MAP_PRIVATE\|MAP_ANONYMOUS")
_ADDRESS = re.compile(r"^(0x[0-9a-f]+), (\d+)")


def calls(lines: Iterable[str]) -> tuple[dict[str, CallCount], int, int]:
    """The calls by name, the connections that were accepted, the messages that were received."""
    own: Counter[str] = Counter()
    others: Counter[str] = Counter()
    mapped: dict[int, int] = {}
    for line in lines:
        if waits := _UNFINISHED.match(line):
            others[waits[1]] += 1  # of which nothing is known but that it was made
            continue
        found = _LINE.match(line)
        if found is None:
            continue
        name, arguments, result = found.groups()
        if name in {"accept", "accept4"} and result.startswith("-"):
            continue
        (own if _by_allocator(name, arguments, result, mapped) else others)[name] += 1
    counted = {name: CallCount(by_allocator=own[name], by_others=others[name]) for name in CALLS}
    return counted, others["accept"] + others["accept4"], others["recvfrom"] + others["recvmsg"]


def _by_allocator(name: str, arguments: str, result: str, mapped: dict[int, int]) -> bool:
    if name == "brk":
        return arguments != "NULL"  # where the heap begins is asked by the loader, too
    if name == "mmap":
        ours = _ANONYMOUS.match(arguments) is not None and result.startswith("0x")
        if ours:
            mapped[int(result, 16)] = int(arguments.split(", ")[1])
        return ours
    if name in {"munmap", "mremap", "madvise"} and (given := _ADDRESS.match(arguments)):
        start = int(given[1], 16)
        return any(begin <= start < begin + size for begin, size in mapped.items())
    return False
