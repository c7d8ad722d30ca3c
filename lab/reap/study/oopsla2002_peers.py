"""Figure 6 of OOPSLA 2002: allocators with the semantics of regions, each in the place of the program's own.

One program (that of WORKLOAD) in one experiment: its own region, a reap, the region emulator over malloc, and
the peers of its card, paired in each round. A peer that is not installed is left out, with the reason.
"""

from collections.abc import Iterator
from pathlib import Path

from reap.allocators.records import DEFAULT, Allocator
from reap.experiment import card
from reap.experiment.runner import Listener
from reap.experiment.spec import Fragmented as Asked
from reap.experiment.spec import Spec, specify
from reap.launch.level import LEVELS
from reap.study import measuring
from reap.study.judging import Extent, Judged, at_most, conclusion, estimate, finding, quotient, side
from reap.study.records import Conclusion, Finding, Mode, Peers

WORKLOAD = "region-compiler"
QUICK_SECONDS = 60.0
"""What the experiment of a quick study takes."""
NEAR_REGIONS = 1.08
"""How near the paper's reaps came to the regions in whose place they were (section 7.4)."""
OWN, REAP, EMULATED = "custom", "reap", "naive"
"""The program's own region, the reap, and the region emulator, as variants."""


def measure(place: Path, mode: Mode, listener: Listener) -> Peers:
    """Runs what is left of the experiment in `place`. Throws InterruptedRunError."""
    described = card.load(WORKLOAD)
    scale = measuring.scale_of(described, mode)
    missing = card.absent(described)

    def make() -> Spec:
        return _spec(described, scale, QUICK_SECONDS if mode == "quick" else None)

    again = f"is not installed here (reap workloads prepare --yes {WORKLOAD})"
    return Peers(
        measured=measuring.measure(place, described, scale, make, listener),
        left_out={name: f"{', '.join(lacking)} {again}" for name, lacking in missing.items()},
    )


def _spec(described: card.Card, scale: int, seconds: float | None) -> Spec:
    missing = card.absent(described)
    names = [*described.variants, *(name for name in described.peers if name not in missing)]
    ready = {name: card.prepare(described.name, name, scale=scale) for name in names}
    return specify(
        ready[OWN].argv,
        [Allocator(name=DEFAULT)],
        workload=described.name,
        directory=ready[OWN].directory,
        runs=0 if seconds else measuring.ROUNDS,
        budget=seconds,
        fragmented=Asked(
            levels=[LEVELS["adv0"]],
            clean=True,
            layouts=0,
            controls=False,
            naive=ready[EMULATED].argv,
            replaced=ready[REAP].argv,
            peers={
                name: (each.argv, each.environment) for name, each in ready.items() if name in described.peers
            },
        ),
    )


def judge(peers: Peers | None) -> list[Conclusion]:
    """What the paper says of reaps among their peers."""
    return [
        conclusion(
            "7.4",
            "Reaps are faster than other regions that free single objects, too.",
            "Windows Heaps: lcc takes twice as long, mudlle 68 % longer; Vmalloc: four times, 43 % longer",
            "CPU time with each peer that does to that with reaps, one program: above 1 is for it, below 1 "
            "against it",
            list(_peers_to_reap(peers)) if peers else [],
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "7.4",
            "Reaps are almost as fast as the regions in whose place they are.",
            "under 8 % slower (lcc, mudlle)",
            "CPU time with reaps to that with the program's own region, one program: at most 1.08 is for it",
            list(_reap_to_own(peers, at_most(NEAR_REGIONS))) if peers else [],
            "does not hold",
        ),
    ]


def _peers_to_reap(peers: Peers) -> Iterator[Finding]:
    measured, result = peers.measured, peers.measured.result
    if result is None:
        return
    reap = result.arm(REAP, DEFAULT, "adv0")
    for name, peer in measured.card.peers.items():
        arm = result.arm(name, DEFAULT, "adv0")
        if arm is None or reap is None or "individual" not in peer.frees:
            continue
        if ratio := quotient(arm, reap):
            yield finding(measured, peer.title, ratio, side(ratio.low > 1, ratio.high < 1))


def _reap_to_own(peers: Peers, judged: Judged) -> Iterator[Finding]:
    measured, result = peers.measured, peers.measured.result
    ratio = estimate(result.arm(REAP, DEFAULT, "adv0"), "normalised") if result else None
    if ratio:
        yield finding(measured, "reaps to regions", ratio, judged(ratio))
