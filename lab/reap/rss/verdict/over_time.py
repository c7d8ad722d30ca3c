"""Verdict on memory over time: what it was at its peak and at the end, and what grows."""

from reap.base import units
from reap.base.records import Estimate
from reap.rss.analyse import growth
from reap.rss.records import NAMES, Parts, Residence, Taken
from reap.rss.verdict.cases import LEAST

_GROWTH = 0.05
"""The least part of settled memory by which a part must grow in the second half of the time to be told."""
_KEPT = 0.5
"""Where less of the most is left at the end, the most is told, too."""
_MISSED = 0.2
"""The least part of the peak that no snapshot has seen to be told."""


def missed(residence: Residence) -> str:
    """Note on a peak that the kernel counted above that of all snapshots; empty where there is none."""
    largest = residence.largest.resident
    if residence.peak - largest < max(LEAST, _MISSED * residence.peak):
        return ""
    return (
        f"Its peak was {units.size(residence.peak)}, and the largest snapshot has {units.size(largest)}: "
        "what the rest was is not known. Give the program more work, or take snapshots more often "
        "(--interval)."
    )


def gone(residence: Residence) -> list[str]:
    """Sentence on the peak, where settled memory says little of it."""
    largest = residence.largest
    if largest.resident - residence.settled.resident < max(LEAST, largest.resident * (1 - _KEPT)):
        return []
    name = most(largest)
    part = units.size(getattr(largest.parts, name))
    size = units.size(largest.resident)
    when = f"{units.duration(largest.seconds)} after the start"
    return [f"At peak it was {size}, {when}; the largest part, {part}, was {NAMES[name]}."]


def freed(residence: Residence) -> list[str]:
    """Sentence on the memory at the end, where it is much less than what settled."""
    settled, last = residence.settled.resident, residence.last.resident
    if settled - last < max(LEAST, settled * (1 - _KEPT)):
        return []
    return [f"At the end, as it exits, it is {units.size(last)}; what is freed then does not count."]


def growing(residence: Residence) -> dict[str, Estimate]:
    """Parts that grow by as much as is worth saying."""
    moments = residence.moments
    half = (moments[-1].seconds - moments[0].seconds) / 2
    least = max(LEAST, _GROWTH * residence.settled.resident)
    return {name: each for name, each in growth(moments).items() if each.low * half >= least}


def grows(name: str, each: Estimate) -> str:
    """A sentence on a part that grows, in bytes a second."""
    said = f"{NAMES[name]} grew by {units.sizes_with_interval(each, ' a second')} until the end"
    return f"{said[0].upper()}{said[1:]}{': a cache, or a leak' if name == 'live' else ''}."


def most(moment: Taken) -> str:
    """The name of the largest part."""
    return max(Parts.__struct_fields__, key=lambda name: getattr(moment.parts, name))
