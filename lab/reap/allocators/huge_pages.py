"""How an allocator is told to ask for transparent huge pages: its own switch, in the environment."""

from collections.abc import Mapping

from reap.allocators.records import DEFAULT, Allocator

_SWITCHES: dict[str, dict[str, tuple[str, str]]] = {
    DEFAULT: {"GLIBC_TUNABLES": ("glibc.malloc.hugetlb=1", ":")},
    "jemalloc": {"MALLOC_CONF": ("thp:always", ",")},
    # The first is what version 2.0 listens to, the second what later ones do.
    "mimalloc": {"MIMALLOC_LARGE_OS_PAGES": ("1", ""), "MIMALLOC_ALLOW_LARGE_OS_PAGES": ("1", "")},
}
"""By the first word of an allocator's name: variable, what to add to it, and what separates its words.

glibc has had its tunable since 2.35.
"""


def switch(allocator: Allocator, environment: Mapping[str, str]) -> dict[str, str] | None:
    """The variables that make it ask for huge pages, beside what they hold already; None if it has no switch.

    With the kernel's `always` none is needed. Words in `environment` that say the contrary come first, so
    that ours, the later ones, count.
    """
    words = _SWITCHES.get(allocator.name.partition("-")[0])
    if words is None:
        return None
    return {
        name: f"{held}{separator}{word}" if separator and (held := environment.get(name)) else word
        for name, (word, separator) in words.items()
    }
