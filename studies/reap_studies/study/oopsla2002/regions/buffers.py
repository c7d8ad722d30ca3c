"""Section 4.3 of OOPSLA 2002 as an experiment: idioms that regions cannot serve, and memory as they go on.

The program of WORKLOAD says itself what lives and what is held. It runs once in each kind of memory: this is
counted and not timed, so that another run would say the same but for what two threads do to each other.
"""

import os
import subprocess
from pathlib import Path

import msgspec

from reap.api import Estimate, ReapError
from reap_studies.study import claims, kept, measuring
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.records import Buffers, Conclusion, Curve, Finding, Mode, Point
from reap_studies.workloads import card, preparation

WORKLOAD = "region-buffers"
MEMORIES = {"custom": "region", "reap": "reap", "naive": "malloc"}
"""Which variant has which memory."""


def take(place: Path, mode: Mode) -> Buffers:
    """Runs the program in each memory, unless `place` has what it said. Throws ReapError of a full disk.

    Whatever else goes wrong is the reason why there are no curves, and is tried again the next time.
    """
    described = card.load(WORKLOAD)
    scale = measuring.scale_of(described, mode)
    known = Buffers(card=described, version=measuring.version_of(described), scale=scale)
    return kept.once(place, known, _counted)


def _counted(known: Buffers) -> Buffers:
    curves = [curve for variant in MEMORIES for curve in _curves(known, variant)]
    return msgspec.structs.replace(known, curves=curves)


def _curves(known: Buffers, variant: str) -> list[Curve]:
    ready = preparation.prepare(WORKLOAD, variant, scale=known.scale)
    # As glibc has it: what malloc holds is asked of glibc.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        [*ready.argv, "--curve"],
        cwd=ready.directory,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        raise ReapError(f"{WORKLOAD}, {variant}, ended with {done.returncode}", done.stderr.strip()[-500:])
    points: dict[str, list[Point]] = {}
    for line in done.stdout.splitlines():
        idiom, comma, numbers = line.partition(",")
        if comma:
            work, live, held = map(int, numbers.split(","))
            points.setdefault(idiom, []).append(Point(work=work, live=live, held=held))
    return [Curve(idiom=idiom, memory=MEMORIES[variant], points=held) for idiom, held in points.items()]


def judge(buffers: Buffers | None) -> list[Conclusion]:
    """What the paper says of regions and such idioms."""
    curves = buffers.curves if buffers else []
    return claims.of("oopsla2002").judge(
        {
            "regions-without-bound": lambda it: _growth(curves, ("region",), it.judged),
            "reaps-with-bound": lambda it: _growth(curves, ("reap", "malloc"), it.judged),
        }
    )


def _growth(curves: list[Curve], memories: tuple[str, ...], judged: Judged) -> list[Finding]:
    found = []
    for each in curves:
        if each.memory in memories and len(each.points) >= 4:
            grown = each.points[-1].held / each.points[len(each.points) // 4 - 1].held
            ratio = Estimate(value=grown, low=grown, high=grown)
            figure = f"{each.idiom}, {each.memory}"
            found.append(Finding(workload=WORKLOAD, figure=figure, ratio=ratio, side=judged(ratio)))
    return found
