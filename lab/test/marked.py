"""Programs that mark their requests, compiled with the header that the package carries."""

import functools
from importlib.resources import files

from recorded import target

INCLUDE = files("reap") / "include"


@functools.cache
def marks(*flags: str) -> str:
    """The path of targets/marks.c, compiled."""
    return target("marks", f"-I{INCLUDE}", *flags)
