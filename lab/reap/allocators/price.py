"""Preloads made for the question what allocation costs: each takes one cost away, and none is for use."""

PREFIX = "price: "
FIRST = "recycle"
"""What every program is tried with first: it bounds what a change of malloc could give."""
BUMP = "bump"
"""What bounds it, too, of a program that allocates so little in all that memory lasts."""
CAUSES = ("placed", "cache", "arenas")
"""Those that tell causes apart, where something gained."""


def is_whole(name: str) -> bool:
    """Whether an arm of this name is a malloc that costs next to nothing, and not one cost less."""
    return name in {f"{PREFIX}{FIRST}", f"{PREFIX}{BUMP}"}


def is_price(name: str) -> bool:
    """Whether an arm of this name is one of them."""
    return name.startswith(PREFIX)
