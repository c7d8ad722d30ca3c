"""How often and how long the workloads of a study run: quickly within a time, fully until figures are sharp.

A quick study has five rounds of everything. How much a run does then follows from what runs take on this
machine: the warm-ups of a workload are measured, and if its rounds would take more than its share of the time
that is left, it begins again with less to do. What one leaves is the next one's, and what all leave gives
further rounds to all.

A full study goes on with a workload until the intervals that its figures are drawn with are narrow. It looks
at how wide they are and not at where they lie, so that nothing is stopped where it pleases.
"""

import math
import shutil
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from reap.api import MOST_ROUNDS, Fragmented, InterruptedRunError, Listener, ReapError, units
from reap_studies.study import measuring
from reap_studies.study.elsewhere import settle
from reap_studies.study.measuring import ROUNDS, Work
from reap_studies.study.records import Measured, Mode

QUICK_SECONDS = 540.0
"""What all experiments of a quick study take together; the rest of its 15 minutes is for what is built and
recorded."""
QUICK_BOUND = 1.35
"""Beyond so many times that, which a slow machine may come to, no other workload is begun."""
TOLERANCE = 1.2
"""A workload begins again where it would take more than so many times its share."""
NARROW = 0.05
"""How wide an interval of a full study may be: from end to end, as a share of its ratio."""
STEP = 6
"""So many rounds more, before widths are looked at again."""
_ATTEMPTS = 2
"""How often a workload begins again with less to do. What starting it takes is not to be saved."""
_FIGURES = {"normalised": "to the baseline", "slowdown": "to its adv0", "to_custom": "to custom"}
"""The ratios of an arm that figures and conclusions use, in words."""


class Place(Protocol):
    """Where experiments of a full study may run: on other machines, or on several cores of this one."""

    cores: int
    """How many experiments go on at a time."""

    def run(self, wanted: Mapping[str, Work], rounds: int) -> None:
        """Has so many rounds of each experiment, by the name of its folder, run as far as it can.

        Throws InterruptedRunError; what ended is kept.
        """
        ...


def measure(
    works: Sequence[Work],
    mode: Mode,
    listener: Listener,
    *,
    gone: float = 0.0,
    most: int = MOST_ROUNDS,
    elsewhere: Place | None = None,
) -> list[Measured]:
    """Runs what is left of every workload's experiment; of a quick study's time `gone` seconds are used up.

    A full study has at most so many rounds, and runs them `elsewhere`, if that is given. Throws
    InterruptedRunError; then it can go on.
    """
    if mode == "quick":
        return _quick(works, listener, gone)
    settle(works, listener)
    return _full(works, listener, most) if elsewhere is None else _spread(works, listener, most, elsewhere)


def wide(result: Fragmented) -> list[str]:
    """The ratios of CPU time whose intervals are not narrower than NARROW, a few words each."""
    found = []
    for arm in result.arms:
        for field, words in _FIGURES.items():
            ratio = getattr(arm, field).get("cpu") if arm.sound else None
            if ratio is None:
                continue
            width = (ratio.ratio.high - ratio.ratio.low) / ratio.ratio.value
            if width >= NARROW:
                named = f"{arm.variant} over {arm.allocator} at {arm.level} {words}"
                found.append(f"{named}: {units.percent(width)}")
    return found


def _full(works: Sequence[Work], listener: Listener, most: int) -> list[Measured]:
    measured = []
    for number, work in enumerate(works, 1):
        listener.say(f"{work.place.name} ({number} of {len(works)})")
        rounds = ROUNDS["full"]
        one = measuring.measure(work, rounds, listener)
        while one.result is not None and rounds < most and (still := wide(one.result)):
            rounds = min(rounds + STEP, most)
            if one.result.rounds < rounds:
                listener.say(
                    f"{len(still)} intervals are wider than {units.percent(NARROW)}: "
                    f"{units.number(rounds, 'round')}"
                )
            one = measuring.measure(work, rounds, listener)
        measured.append(_with_widths(one))
    return measured


def _spread(works: Sequence[Work], listener: Listener, most: int, elsewhere: Place) -> list[Measured]:
    """As `_full`, but all that need as many rounds at once."""
    left = {work.place.name: work for work in works}
    measured: dict[str, Measured] = {}
    rounds = ROUNDS["full"]
    while left:
        listener.say(f"{units.number(rounds, 'round')} of {', '.join(left)}")
        elsewhere.run(left, rounds)
        for name, work in left.items():
            measured[name] = _with_widths(measuring.measure(work, rounds, listener))
        left = {name: work for name, work in left.items() if rounds < most and measured[name].wide}
        rounds = min(rounds + STEP, most)
    return [measured[work.place.name] for work in works]


def _quick(works: Sequence[Work], listener: Listener, gone: float) -> list[Measured]:
    measured: list[Measured] = []
    run = measuring.RUN["quick"]
    for number, work in enumerate(works):
        listener.say(f"{work.place.name} ({number + 1} of {len(works)})")
        if gone > QUICK_BOUND * QUICK_SECONDS and not measuring.begun(work):
            measured.append(measuring.excluded(work, "the time of a quick study was used up before it"))
            continue
        share = max(0.0, QUICK_SECONDS - gone) / (len(works) - number)
        lost, fitted = _fit(work, share, run, listener)
        gone += lost
        # What made one too long, as a slow machine does, may make the next too long; but some are so alone.
        run *= max(math.sqrt(fitted), 0.7)
        measured.append(measuring.measure(work, ROUNDS["quick"], listener))
        gone += measuring.spent(work, ROUNDS["quick"])
    return [_with_widths(one) for one in _further(works, measured, QUICK_SECONDS - gone, listener)]


def _fit(work: Work, share: float, run: float, listener: Listener) -> tuple[float, float]:
    """Begins the experiment with as much to do as its share allows, first with runs of about `run` seconds.

    Gives the seconds that attempts took, and how much less than first there is to do. Where that cannot be
    found out, measuring it will say why.
    """
    described = work.described
    if measuring.begun(work) or measuring.lacking(described):
        return 0.0, 1.0
    first = scale = measuring.scale_of(described, "quick", run / work.part)
    lost = 0.0
    try:
        for attempt in range(_ATTEMPTS + 1):
            measuring.begin(work, scale)
            cost = measuring.cost(work, listener)
            need = cost.a_round * (ROUNDS["quick"] + 1) + cost.later
            if need <= TOLERANCE * share or scale <= described.quick_scale or attempt == _ATTEMPTS:
                break
            lost += measuring.spent(work, ROUNDS["quick"])
            scale = max(described.quick_scale, math.floor(scale * share / need))
            given = f"its share of {units.about(share)}"
            listener.say(f"{units.about(need)} is more than {given}: again with less to do")
    except InterruptedRunError:
        raise
    except ReapError:
        shutil.rmtree(work.place, ignore_errors=True)
    return lost, scale / first


def _further(
    works: Sequence[Work], measured: Sequence[Measured], left: float, listener: Listener
) -> list[Measured]:
    """The same with as many rounds more as the time that is left gives to all."""
    sound = [work for work, one in zip(works, measured, strict=True) if one.result is not None]
    a_round = sum(measuring.cost(work, listener).a_round for work in sound)
    rounds = min(ROUNDS["quick"] + int(left / a_round), MOST_ROUNDS) if sound and left > 0 else 0
    if rounds <= ROUNDS["quick"]:
        return list(measured)
    listener.say(f"there is time for {units.number(rounds, 'round')} of each")
    return [
        measuring.measure(work, rounds, listener) if one.result is not None else one
        for work, one in zip(works, measured, strict=True)
    ]


def _with_widths(one: Measured) -> Measured:
    return msgspec.structs.replace(one, wide=wide(one.result)) if one.result is not None else one
