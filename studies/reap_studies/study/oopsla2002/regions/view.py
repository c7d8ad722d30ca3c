"""The page of the OOPSLA 2002 study: regions, reaps and their peers, of section 4.3 and Figure 6."""

from collections.abc import Sequence

import markupsafe

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Arm, units
from reap_studies.study.drawing import curves as curves_svg
from reap_studies.study.drawing.bars import Bar
from reap_studies.study.drawing.curves import Line
from reap_studies.study.oopsla2002.regions.peers import EMULATED, OWN, REAP
from reap_studies.study.records import Buffers, Peers, Study
from reap_studies.study.view import FigureView, TableView, drawn

_IDIOMS = {
    "buffer": "A buffer without bound",
    "arrays": "Dynamic arrays",
    "turns": "Producer and consumer, one thread",
    "threads": "Producer and consumer, two threads",
}
_OWN = {
    OWN: ("its own region", 0),
    REAP: ("our Reap in its place", 1),
    EMULATED: ("each object from malloc", 3),
}
_PUBLISHED = [
    ["regions (each program's own)", "1.00", "1.00"],
    ["reaps", "under 1.08", "under 1.08"],
    ["Windows Heaps", "2", "almost 1.68"],
    ["Vmalloc", "4", "1.43"],
]
"""Section 7.4: lcc and mudlle."""


def figures(study: Study) -> list[FigureView]:
    """Section 4.3, and Figure 6 twice: time and memory."""
    shown = []
    if (buffers := study.buffers) is not None:
        shown.append(
            FigureView(
                "Section 4.3. Idioms that regions cannot serve",
                "Bytes held and bytes in use as the work goes on, a run for each kind of memory. What malloc "
                f"holds is the whole program's. The paper has no figure of it. {_because(buffers.excluded)}",
                [_curves(buffers, idiom) for idiom in _idioms(buffers)],
                whiskers=False,
            )
        )
    if study.peers:
        why = " ".join(_because(each.measured.excluded) for each in study.peers)
        shown += [
            FigureView(
                "Figure 6. Allocators with the semantics of regions: CPU time",
                "The same program and the same objects, from each; to its own region. Of the paper's peers, "
                f"Vmalloc is here and Windows Heaps are not. {why}",
                _bars(study.peers, "cpu", "CPU time"),
            ),
            FigureView(
                "Beside Figure 6: memory",
                f"Most resident memory of the same runs, libraries and all. The paper shows none. {why}",
                _bars(study.peers, "peak_resident", "most resident memory"),
            ),
        ]
    return shown


def _because(why: str) -> str:
    return f"Not measured: {why}." if why else ""


def tables(study: Study) -> list[TableView]:
    """Figure 6 in numbers, ours and the paper's."""
    if not study.peers:
        return []
    here: list[dict[str, str]] = []
    for peers in study.peers:
        said = {title: _said(arm) for title, arm, _ in _arms(peers)}
        titles = {name: peer.title for name, peer in peers.measured.card.peers.items()}
        here.append(said | {titles[name]: f"left out: {why}" for name, why in _left_out(peers)})
    rows = [[*each, *("" for _ in here)] for each in _PUBLISHED]
    every = dict.fromkeys(title for said in here for title in said)
    rows += [[title, "", "", *(said.get(title, "not measured") for said in here)] for title in every]
    columns = ["allocator", "lcc (published)", "mudlle (published)"]
    columns += [f"{each.measured.card.name} (here)" for each in study.peers]
    return [TableView("Figure 6 in numbers. CPU time to the program's own region", columns, rows)]


def _left_out(peers: Peers) -> list[tuple[str, str]]:
    result = peers.measured.result
    ran = result.variants if result else []
    return [(name, why) for name, why in peers.left_out.items() if name not in ran]


def _arms(peers: Peers) -> list[tuple[str, Arm | None, int]]:
    """Each allocator's name, what was measured of it, and its colour: ours first, the emulator last."""
    result = peers.measured.result
    if result is None:
        return []
    named = _OWN | {name: (peer.title, 2) for name, peer in peers.measured.card.peers.items()}
    return [(named[name][0], result.arm(name, DEFAULT, "adv0"), named[name][1]) for name in result.variants]


def _bars(programs: Sequence[Peers], metric: str, what: str) -> list[markupsafe.Markup]:
    """A drawing for each program that was measured."""
    drawings = []
    for peers in programs:
        groups = []
        for title, arm, shade in _arms(peers):
            ratio = arm.normalised.get(metric) if arm is not None and arm.sound else None
            groups.append((title, [Bar("", ratio.ratio if ratio else None, shade)]))
        if groups:
            drawings.append(drawn(f"{peers.measured.card.name}: {what} to its own region", groups))
    return drawings


def _said(arm: Arm | None) -> str:
    if arm is None or not arm.sound:
        return arm.problem if arm is not None and arm.problem else "not measured"
    return units.ratio_with_interval(arm.normalised["cpu"].ratio)


def _idioms(buffers: Buffers) -> list[str]:
    return list(dict.fromkeys(each.idiom for each in buffers.curves))


def _curves(buffers: Buffers, idiom: str) -> markupsafe.Markup:
    curves = [each for each in buffers.curves if each.idiom == idiom and each.points]
    lines = [
        Line(each.memory, [(point.work, point.held) for point in each.points], shade)
        for shade, each in enumerate(curves, 1)
    ]
    lines.append(Line("in use", [(point.work, point.live) for point in curves[0].points], 0))
    text = curves_svg.draw(_IDIOMS.get(idiom, idiom), "steps", lines)
    return markupsafe.Markup(text)  # noqa: S704 - ours, and every word in it is escaped
