"""Facts of an allocator before anything runs."""

from reap.base.records import Record

MALLOC = "malloc"
ALIGNED_ALLOC = "aligned_alloc"

FUNCTIONS = (
    MALLOC,
    "free",
    "calloc",
    "realloc",
    ALIGNED_ALLOC,
    "posix_memalign",
    "memalign",
    "malloc_usable_size",
)
"""The functions that must all come from one heap. Keep in step with lab/preload/probe/probe.cpp."""

DEFAULT = "glibc"
"""The name of what a program gets without a preload."""


OWN = {"reap": "libreap-malloc.so", "win32-like": "libreap-win32-like.so"}
"""The names of Reap's own allocators, and the files that come with it: its reaps, and a likeness of the heap
of Windows XP, which the paper of 2002 held its programs to."""


class Allocator(Record):
    """One allocator that can serve a program."""

    name: str
    library: str = ""
    """The file to preload, absolute; empty for the C library's own malloc."""
    package: str = ""
    """The Debian package that the file belongs to, where one does."""
    crate: str = ""
    """The crate that it was built from by `reap allocators install`, with the crate's version."""
    version: str = ""
    """The package's; the allocator's own, where built from a crate; Reap's, of what comes with it."""
    environment: dict[str, str] = {}
    """Variables that change its settings; so the same allocator may be listed twice."""
    preloads: list[str] = []
    """Objects of Reap's that are loaded before it, as those that act on the program's memory."""
    options: list[str] = []
    """Further options of the launcher."""
    notes: list[str] = []
    """What a reader must know: the functions that it lacks."""

    @property
    def origin(self) -> str:
        """Origin, in words."""
        if self.name in OWN and self.version:
            return f"comes with Reap {self.version}"
        if self.package:
            return f"Debian package {self.package} {self.version}".rstrip()
        if self.crate:
            return f"version {self.version}, built from crate {self.crate}"
        return "file" if self.library else "the C library"


class Missing(Record):
    """An allocator that is in the catalogue and not installed."""

    name: str
    install: str
    """The command that installs it."""
    package: str = ""
    """The Debian package to install; empty for one that is built by `reap allocators install`."""
