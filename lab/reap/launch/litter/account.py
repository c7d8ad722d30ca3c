"""Cost of a program without its littering, which the kernel counts with it. Starts nothing."""

import msgspec

from reap.launch.litter.records import Littering
from reap.launch.records import Outcome

_COUNTED = (
    "user_ns", "system_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches",
)  # fmt: skip
"""What a littering reports of itself as the kernel does of the program."""


def resident_added(litterings: list[Littering]) -> dict[int, int]:
    """Bytes of resident memory by which each process grew through its litter.

    Its first thread has measured its own; the others' share is taken to be as large for what it keeps.
    """
    added = {}
    for first in litterings:
        if first.thread == 0 and first.kept_bytes:
            kept = sum(each.kept_bytes for each in litterings if each.pid == first.pid)
            grown = max(first.resident_after - first.resident_before, 0)
            added[first.pid] = round(grown * kept / first.kept_bytes)
    return added


def net(gross: Outcome, litterings: list[Littering]) -> tuple[Outcome, int]:
    """The outcome without what the litterings cost, and the number of processes whose litter is not in it.

    Wall time is less by every moment in which some thread littered: its creator waits meanwhile, so that this
    is exact unless other threads or processes of the program run beside. The kernel counts a process only for
    a parent that waits for it. Which did is not known; but a litter of children that nobody waited for has
    more faults than the kernel has counted for all.
    """
    left = _less(gross, litterings)
    if litterings and left.minor_faults < 0:
        first = [each for each in litterings if each.pid == litterings[0].pid]
        uncounted = len({each.pid for each in litterings}) - 1
        if uncounted:
            return _least(_less(gross, first)), uncounted
    return _least(left), 0


def _less(gross: Outcome, litterings: list[Littering]) -> Outcome:
    def total(name: str) -> int:
        return sum(getattr(each, name) for each in litterings)

    return msgspec.structs.replace(
        gross,
        wall_ns=gross.wall_ns - _covered([each for each in litterings if not each.beside]),
        events=_net_events(gross, litterings),
        **{name: getattr(gross, name) - total(name) for name in _COUNTED},
    )


def _least(outcome: Outcome) -> Outcome:
    """Clocks of the kernel and of a thread differ by a tick: nothing is below 0."""
    least = {name: max(getattr(outcome, name), 0) for name in ("wall_ns", *_COUNTED)}
    return msgspec.structs.replace(outcome, **least)


def _net_events(gross: Outcome, litterings: list[Littering]) -> int | None:
    counts = [each.events for each in litterings]
    if gross.events is None or None in counts:
        return None
    return max(gross.events - sum(count for count in counts if count is not None), 0)


def _covered(litterings: list[Littering]) -> int:
    """The length of the union of their times."""
    covered, until = 0, 0
    for each in sorted(litterings, key=lambda each: each.begin_ns):
        begin = max(each.begin_ns, until)
        if each.end_ns > begin:
            covered += each.end_ns - begin
            until = each.end_ns
    return covered
