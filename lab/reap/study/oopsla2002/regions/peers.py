"""Figure 6 of OOPSLA 2002: allocators with the semantics of regions, each in the place of the program's own.

One program (that of WORKLOAD) in one experiment: its own region, a reap, the region emulator over malloc, and
the peers of its card, paired in each round. A peer that is not installed is left out, with the reason.
"""

from collections.abc import Iterator
from pathlib import Path

from reap.allocators.records import DEFAULT, Allocator
from reap.experiment.specify import AskedFragment
from reap.launch.litter.level import LEVELS
from reap.study.judging import Extent, Judged, at_most, conclusion, estimate, finding, quotient, side
from reap.study.measuring import Work
from reap.study.oopsla2002.judge import NEAR_REGIONS
from reap.study.records import Conclusion, Finding, Measured, Mode, Peers
from reap.workloads import card

WORKLOAD = "region-compiler"
OWN, REAP, EMULATED = "custom", "reap", "naive"
"""The program's own region, the reap, and the region emulator, as variants."""


def work(place: Path, mode: Mode) -> Work:
    """Its own region, a reap, the emulator, and the peers that are installed."""
    described = card.load(WORKLOAD)
    missing = card.absent(described)
    return Work(
        place=place,
        described=described,
        mode=mode,
        allocators=[Allocator(name=DEFAULT)],
        heaps=AskedFragment(levels=[LEVELS["adv0"]], clean=True, layouts=0, controls=False),
        peers=[name for name in described.peers if name not in missing],
    )


def of(measured: Measured) -> Peers:
    """What was measured, and why some peers were not."""
    again = f"is not installed here (reap workloads prepare --yes {WORKLOAD})"
    missing = card.absent(measured.card)
    return Peers(
        measured=measured,
        left_out={name: f"{', '.join(lacking)} {again}" for name, lacking in missing.items()},
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
