"""Names of the litter of a heap, on a terminal and on a page."""

from reap.base import units
from reap.base.text import printable
from reap.draw.figure import Figure
from reap.fragment.heap_map import PAGE, HeapMap
from reap.fragment.run import FragmentRun
from reap.launch.litter.account import resident_added
from reap.launch.litter.records import Order
from reap.recording.analyse.size_profile import SizeProfile

ORDERS = {
    "random": "in random order",
    "address": "by address",
    "reversed": "by address, the highest first",
}
"""How the litter was freed, by `launch.litter.records.Order`."""


def drawn_from(profile: SizeProfile) -> str:
    """Blocks of the program that the sizes of the litter are sampled from."""
    return "its blocks in use at the peak" if profile.counted == "in use at the peak" else "its allocations"


def freed_in_order(order: Order, *, touch: bool, seed: int) -> str:
    """The choices that make a heap: in which order, written to or not, and the seed."""
    touched = "written to" if touch else "never written to"
    return f"{ORDERS[order]}; {touched}; seed {seed}"


def title(result: FragmentRun) -> str:
    """Level and allocator."""
    return f"On a heap littered at {result.litter.level.name}, under {printable(result.allocator)}"


def heap(result: FragmentRun) -> list[str]:
    """Lines on the litter of the heap."""
    litter, profile = result.litter, result.profile
    level, peak = litter.level, units.whole(litter.peak)
    order = freed_in_order(litter.order, touch=litter.touch, seed=litter.seed)
    first = (
        f"{units.whole(litter.objects)} objects ({level.multiplier:g} x the {peak} in use at its peak), of "
        f"{units.size(profile.mean_size)} on average, sampled from {drawn_from(profile)}; "
        f"{units.percent(level.occupancy)} stay, the others were freed {order}"
    )
    said = [first]
    if profile.left_out:
        said.append(
            f"ignored: blocks of {units.whole(profile.cut_off)} bytes and more, "
            f"{units.percent(profile.left_out_share)} of its bytes"
        )
    if litter.threads > 1:
        said.append(f"shared evenly by the first {litter.threads} threads")
    return said


def kept(result: FragmentRun) -> str:
    """Litter that stays in use, in a line."""
    done = [each for each in result.run.litterings if not each.failure]
    return (
        f"stays in use: {units.size(sum(each.kept_bytes for each in done))} in "
        f"{units.whole(sum(each.kept for each in done))} objects; littered: "
        f"{units.many(len({each.pid for each in done}), 'process', 'es')}, {units.many(len(done), 'thread')}"
    )


COSTS = ("the program", "the littering, before it")
"""The columns of `costs`, behind its names."""


def costs(result: FragmentRun) -> list[tuple[str, str, str]]:
    """Costs of the program on that heap, and those of the littering."""
    net, gross = result.run.outcome, result.run.gross
    added = sum(resident_added(result.run.litterings).values())
    return [
        ("user time", units.duration(net.user_ns / 1e9), units.duration((gross.user_ns - net.user_ns) / 1e9)),
        (
            "system time",
            units.duration(net.system_ns / 1e9),
            units.duration((gross.system_ns - net.system_ns) / 1e9),
        ),
        ("wall time", units.duration(net.wall_ns / 1e9), units.duration((gross.wall_ns - net.wall_ns) / 1e9)),
        (
            "page faults",
            units.count(net.minor_faults + net.major_faults),
            units.count(gross.minor_faults + gross.major_faults - net.minor_faults - net.major_faults),
        ),
        ("resident memory", f"{units.size(gross.peak_resident)} at most, together", units.size(added)),
    ]


def index(heap: HeapMap) -> str:
    """Fragmentation of the heap, in a sentence."""
    return (
        f"{units.count(heap.program_objects)} blocks of the program lie on {units.count(heap.program_pages)} "
        f"pages, which are {units.percent(heap.density)} full of them; all {units.count(heap.pages)} used "
        f"pages are {units.percent(heap.fill)} full; {units.mean(heap.mean_run)} blocks in a row on average, "
        f"{units.count(heap.longest_run)} at most"
    )


def figure(heap: HeapMap) -> Figure:
    """The words of the map of a heap."""
    pages = heap.cells[0].pages if heap.cells else 0
    litter, own = units.size(heap.litter_bytes), units.size(heap.program_bytes)
    return Figure(
        "heap",
        "Map of the heap",
        f"Each square: {units.number(pages, 'used page')} of {PAGE} bytes, the fuller, the stronger its "
        f"colour. Grey: litter that stays ({litter}). Orange: the program's ({own}).",
        index(heap),
        wide=True,
    )
