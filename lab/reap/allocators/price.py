"""Preloads made for the question what allocation costs: each takes one cost away, and none is for use."""

PREFIX = "price: "
FIRST = ("recycle", "bump")
"""Those that every program is tried with: the best of them bounds what a change of malloc could give."""
CAUSES = ("placed", "cache", "arenas")
"""Those that tell causes apart, where something gained."""


def is_price(name: str) -> bool:
    """Whether an arm of this name is one of them."""
    return name.startswith(PREFIX)
