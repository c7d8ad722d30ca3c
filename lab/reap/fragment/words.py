"""What the litter of a heap is called, on a terminal and on a page."""

from reap.launch.litter.records import Order
from reap.recording.analyse.size_profile import SizeProfile

ORDERS = {
    "random": "in random order",
    "address": "by address",
    "reversed": "by address, the highest first",
}
"""How the litter was freed, by `launch.litter.records.Order`."""


def drawn_from(profile: SizeProfile) -> str:
    """What of the program the sizes of the litter are."""
    return "its blocks in use at the peak" if profile.counted == "in use at the peak" else "its allocations"


def freed_in_order(order: Order, *, touch: bool, seed: int) -> str:
    """The choices that make a heap: in which order, written to or not, and the seed."""
    touched = "written to" if touch else "never written to"
    return f"{ORDERS[order]}; {touched}; seed {seed}"
