"""Figure 6 of OOPSLA 2002: allocators with the semantics of regions, each in the place of the program's own.

An experiment for each program (of WORKLOADS): its own region, a reap, a malloc for each object, and the peers
of its card, paired in each round. A peer that is not installed is skipped, with the reason.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import LEVELS, Allocator, AskedFragment
from reap_studies.study import claims
from reap_studies.study.judging.bounds import Judged, side
from reap_studies.study.judging.exclusions import Evidence
from reap_studies.study.judging.ratios import estimate, finding, quotient
from reap_studies.study.measuring import Work
from reap_studies.study.records import Conclusion, Finding, Measured, Mode, Peers
from reap_studies.workloads import card, preparation

WORKLOADS = ("region-compiler",)
"""Those whose program has peers."""
OWN, REAP, EMULATED = "custom", "reap", "naive"
"""The program's own region, the reap, and each object from malloc, as variants."""


def work(place: Path, name: str, mode: Mode) -> Work:
    """Its own region, a reap, malloc, and the peers that are installed, in a folder below the study's."""
    described = card.load(name)
    missing = preparation.absent(described)
    return Work(
        place=place / f"{name}-peers",
        described=described,
        mode=mode,
        allocators=[Allocator(name=DEFAULT)],
        fragment=AskedFragment(levels=[LEVELS["adv0"]], clean=True, layouts=0, controls=False),
        peers=[name for name in described.peers if name not in missing],
    )


def of(measured: Measured) -> Peers:
    """What was measured, and why some peers were not."""
    again = f"is not installed here (reap workloads prepare --yes {measured.card.name})"
    missing = preparation.absent(measured.card)
    return Peers(
        measured=measured,
        left_out={name: f"{', '.join(lacking)} {again}" for name, lacking in missing.items()},
    )


def judge(peers: Sequence[Peers], evidence: Evidence | None = None) -> list[Conclusion]:
    """What the paper says of reaps among their peers."""
    return claims.of("oopsla2002").judge(
        {
            "reaps-to-peers": lambda _: [found for each in peers for found in _peers_to_reap(each)],
            "reaps-to-own-region": lambda it: [
                found for each in peers for found in _reap_to_own(each, it.judged)
            ],
        },
        (),
        claims.Setting(evidence=evidence or Evidence()),
    )


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
