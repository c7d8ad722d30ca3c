"""OOPSLA 2002, Table 4 and Figure 7: drag is taken once, judged, and shown with what was published."""

import re

import msgspec
import pytest
from lab.test.drag.test_page import level
from samples import HOSTILE, machine
from studies.test.study.copies import copies

from reap.base.errors import ReapError
from reap.drag.exact.records import DragLevel, DragPoint, DragSite, Tally
from reap.drag.exact.reserve import without_reserve
from reap.launch.tools import valgrind
from reap_studies.study import figures, measuring
from reap_studies.study import page as reporter
from reap_studies.study.drawing import areas
from reap_studies.study.judging.exclusions import Evidence
from reap_studies.study.oopsla2002.drag import run as dragging
from reap_studies.study.oopsla2002.drag.judge import average_drag, judge
from reap_studies.study.oopsla2002.drag.records import Dragged
from reap_studies.study.records import Drag, Plan, Study
from reap_studies.workloads import card, preparation

RUNTIME = (
    "libstdc++.so.6+0xa57b9",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
    "call_init (elf/dl-init.c:26)",
)
OWN = ("make", "/bin/program", "main (program.c:3)")
NOTHING = Tally(objects=0, bytes=0)


def level_of(*objects, sites=()):
    """A level of objects (size, steps until the last access, steps until the free), allocated one a step.

    Each step is a stretch of the curve; `sites` are those of the objects, all the same one if none are given.
    """
    steps = len(objects)
    sites = sites or [OWN] * steps

    def areas(size, step, lasts):
        return size * sum(each[0] for each in objects[step : step + lasts])

    def at(now, which):
        return sum(each[0] for step, each in enumerate(objects) if step <= now < step + each[which])

    live = [at(now, 2) for now in range(steps)]
    needed = [at(now, 1) for now in range(steps)]
    live_area = sum(areas(size, step, end) for step, (size, _, end) in enumerate(objects))
    needed_area = sum(areas(size, step, last) for step, (size, last, _) in enumerate(objects))
    peak_at = live.index(max(live))
    found = []
    for site in dict.fromkeys(sites):
        mine = [(step, each) for step, each in enumerate(objects) if sites[step] == site]
        held = [sum(areas(each[0], step, each[way]) for step, each in mine) for way in (2, 1)]
        function, module, called_by = site
        found.append(
            DragSite(
                function=function,
                location="",
                module=module,
                stack=[function, called_by],
                objects=len(mine),
                bytes=sum(each[0] for _, each in mine),
                live_area=str(held[0]),
                needed_area=str(held[1]),
                share=(held[0] - held[1]) / max(1, live_area - needed_area),
                live_at_peak=sum(each[0] for step, each in mine if step <= peak_at < step + each[2]),
                dragged_at_peak=0,
                never=NOTHING,
                write_only=NOTHING,
                released=NOTHING,
                dragged=[1.0] * steps,
            )
        )
    return DragLevel(
        name="objects",
        total=Tally(objects=steps, bytes=sum(each[0] for each in objects)),
        drag=live_area / needed_area,
        live_area=str(live_area),
        needed_area=str(needed_area),
        peak=max(live),
        needed_peak=max(needed),
        peak_ratio=max(live) / max(needed),
        peak_at=peak_at,
        never=NOTHING,
        write_only=NOTHING,
        released=NOTHING,
        curve=[
            DragPoint(at=step, live=a, needed=b, most_live=a, most_needed=b)
            for step, (a, b) in enumerate(zip(live, needed, strict=True))
        ],
        sites=found,
    )


def test_what_the_runtime_sets_aside_is_no_drag_of_the_program():
    own = [(10, 2, 3), (20, 1, 4), (10, 3, 3), (40, 1, 1), (10, 1, 1)]
    seen = without_reserve(level_of((1000, 1, 6), *own, sites=[RUNTIME, *[OWN] * 5]))
    truth = level_of(*own)
    assert seen.drag == truth.drag
    assert (seen.live_area, seen.needed_area) == (truth.live_area, truth.needed_area)
    assert (seen.peak, seen.needed_peak, seen.total) == (truth.peak, truth.needed_peak, truth.total)
    assert [(each.function, each.share) for each in seen.sites] == [("make", 1.0)]
    assert [each.most_live for each in seen.curve[1:]] == [each.most_live for each in truth.curve]
    assert without_reserve(truth) == truth
    several = level_of((1000, 1, 6), (1000, 1, 6), *own, sites=[RUNTIME, RUNTIME, *[OWN] * 5])
    assert without_reserve(several) == several  # objects that a program makes by that library


def drag_of(name, drag=1.0, peak=1.0, *, chunks=None, **changes):
    """A workload of this total drag and peak ratio."""
    level = level_of((100, 1, 2), (100, 2, 2))
    level = msgspec.structs.replace(
        level, drag=drag, peak=round(1000 * peak), needed_peak=1000, peak_ratio=peak
    )
    made = Drag(
        card=card.load(name),
        scale=7,
        objects=Dragged(variant="naive", marked=False, level=level),
        chunks=chunks and Dragged(variant="custom", marked=False, level=chunks),
    )
    return msgspec.structs.replace(made, **changes)


def standing(words, *drags):
    (found,) = [each for each in judge(copies(drags)) if words in each.claim]
    return found.standing


def test_drag_is_judged_by_group():
    high, low = drag_of("fpga-placer", 1.2, 1.2), drag_of("request-server", 1.01, 1.01)
    assert standing("no regions", drag_of("chart-parser", 1.02)) == "holds"
    assert standing("no regions", drag_of("chart-parser", 1.3)) == "does not hold"
    assert standing("no regions", high, drag_of("perl", 1.3)) == "inconclusive"
    assert standing("general-purpose", drag_of("perl", 1.0), drag_of("sed", 1.5)) == "holds"
    assert standing("general-purpose", drag_of("perl", 1.5)) == "does not hold"
    assert standing("regions have more", high, low) == "holds"
    assert standing("regions have more", low, drag_of("chart-parser", 1.5)) == "does not hold"
    (alone,) = [each for each in judge([drag_of("lcc", 3.34)]) if "very high" in each.claim]
    assert (alone.standing, alone.answer) == (
        "inconclusive",
        "Not judged: 1 input of the 3 that it takes. One figure, for it: 3.34 (lcc, total drag).",
    )
    (every,) = [each for each in judge([drag_of("lcc", 3.34)] * 3) if "very high" in each.claim]
    assert every.standing == "holds"
    assert standing("very high", drag_of("region-compiler", 3.34)) == "inconclusive", "it is said of lcc"
    assert standing("Regions raise the peak", high) == "holds"
    assert standing("Regions raise the peak", low) == "does not hold"
    assert standing("On average regions", high) == "holds"
    assert standing("On average regions", low) == "does not hold"
    names = ("fpga-placer", "request-server", "region-compiler")
    apart = [drag_of(name, 1.0, peak) for name, peak in zip(names, (1.0, 1.01, 1.2), strict=True)]
    (average,) = [each for each in judge(apart) if "On average regions" in each.claim]
    assert average.standing == "inconclusive"


def test_what_is_partial_or_not_seen_decides_nothing():
    unseen = drag_of("fpga-placer", objects=None)
    partial = drag_of("gawk", 3.0)
    control = drag_of("sqlite-lookaside", 3.0)
    every = [unseen, *copies([partial, control])]
    cards = Evidence(cards={each.card.name: each.card for each in every})
    judged = judge(every, cards)
    assert {each.standing for each in judged} == {"inconclusive"}
    assert {tuple(found.excluded) for each in judged for found in each.findings} == {
        ("partial",),
        ("control", "partial"),
    }
    assert average_drag([unseen, partial, control], "custom") is None
    assert average_drag([drag_of("perl", 1.0), drag_of("sed", 2.0), partial], "ordinary") == 1.5


def test_regions_are_what_frees_all_together():
    groups = {
        name: dragging.group_of(card.load(name)) for name in ("sed", "chart-parser", "php", "subversion")
    }
    assert groups == {"sed": "ordinary", "chart-parser": "custom", "php": "region", "subversion": "region"}


def study_of(*drags):
    return Study(
        plan=Plan(study="oopsla2002", mode="quick", workloads=[], allocators=["glibc"]),
        reap_version="1",
        created="2026-01-01T00:00:00+00:00",
        machine=machine(),
        measured=[],
        conclusions=judge(drags),
        drag=list(drags),
    )


def test_the_page_has_table_4_and_figure_7_beside_the_paper_s(tmp_path):
    chunks = level_of((5 << 20, 1, 1), (1, 1, 1))
    absent = drag_of("subversion", objects=None, excluded=f"no Valgrind {HOSTILE}")
    first = drag_of("mudlle", 1.234, 1.5, chunks=chunks, notes=[f"noted {HOSTILE}"])
    study = study_of(drag_of("perl", 1.111), first, drag_of("rapidjson", 1.017), absent)
    page = reporter.page(study)
    table = page[page.index("Table 4. Total drag") :]
    row = table[table.index("mudlle") : table.index("</tr>", table.index("mudlle"))]
    cells = [each.partition("</td>")[0] for each in row.split("<td>")[1:]]
    assert cells[3:7] == ["1.234", "1.46 KiB", "0.98 KiB", "50 %"]
    assert cells[7:10] == ["1.000", "5.00 MiB", "0 %"]
    assert table.index("mudlle") < table.index("perl")
    assert "not measured: no Valgrind" in page
    assert "No drag of subversion: no Valgrind" in page
    assert HOSTILE not in page
    assert ">here, without mudlle</text>" in page
    assert page.count(">1.017</text>") == 2
    for words in ("4 717 603", "2 886 903", "3.34", "Figure 7(a).", "average, region: here", ">1.6</text>"):
        assert words in page
    curves = page[page.index("Figure 7(b).") :]
    assert "mudlle: total drag 1.234" in curves
    assert "needed: at most" in curves
    reporter.write(study, tmp_path)
    assert (tmp_path / "figure-7-a.svg").exists()
    assert (tmp_path / "figure-7-b-1.svg").exists()
    assert msgspec.json.decode((tmp_path / "study.json").read_bytes(), type=Study) == study
    lines = figures.table(study)
    assert "drag,mudlle,region,naive,valgrind,,1,total drag of objects,1,1.234,," in lines
    assert "drag,mudlle,region,custom,valgrind,,1,peak of chunks,bytes,5242880,," in lines
    assert "subversion,region,naive" not in lines


def test_a_page_without_drag_says_nothing_of_it():
    page = reporter.page(study_of())
    assert "Table 4." not in page
    assert "Figure 7(a)." not in page


def test_drag_is_taken_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setitem(dragging.SECONDS, "quick", 0.001)
    place = tmp_path / "drag.json"
    described = card.load("bouncing-balls")
    taken = dragging.take(place, described, "quick", str)
    assert taken.excluded == ""
    assert taken.scale == described.quick_scale
    assert taken.objects is not None
    assert taken.chunks is not None
    assert taken.objects.level.total.objects > 100_000 > taken.chunks.level.total.objects
    assert (taken.objects.marked, taken.chunks.marked) == (True, True)
    assert 1 <= taken.objects.level.drag < 1.02  # more with what libstdc++ sets aside
    monkeypatch.setattr(dragging, "_taken", None)
    assert dragging.take(place, described, "quick", str) == taken
    assert dragging.take(place, described, "quick", str, late=True) == taken
    late = dragging.take(tmp_path / "other.json", described, "quick", str, late=True)
    assert (late.objects, late.excluded[:12]) == (None, "no time was ")


def test_without_valgrind_it_says_so_and_tries_again(tmp_path, monkeypatch):
    monkeypatch.setattr(valgrind, "tools", lambda: None)
    taken = dragging.take(tmp_path / "drag.json", card.load("sed"), "quick", str)
    assert "Valgrind" in taken.excluded
    assert taken.objects is taken.chunks is None
    assert not (tmp_path / "drag.json").exists()


def test_what_a_shell_starts_is_not_measured(tmp_path, monkeypatch):
    described = card.load("sed")
    shell = msgspec.structs.replace(preparation.prepare("sed", scale=1), argv=["sh", "-c", "true"])
    monkeypatch.setattr(preparation, "prepare", lambda *_, **__: shell)
    taken = dragging.take(tmp_path / "drag.json", described, "quick", str)
    assert "is started by a shell" in taken.excluded


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("sed", ("default", False)),
        ("region-compiler", ("custom", True)),
        ("rapidjson", ("custom", True)),
        ("cpython", ("naive", False)),
        ("php", ("naive", False)),
        ("lcc", ("emulated", False)),
        ("subversion", None),
        ("protobuf", None),
    ],
)
def test_objects_are_shown_by_marks_or_by_malloc(name, shown):
    assert dragging.shows_objects(card.load(name)) == shown


def test_of_others_regions_chunks_alone_are_taken(tmp_path, monkeypatch):
    monkeypatch.setitem(dragging.SECONDS, "quick", 0.001)
    described = msgspec.structs.replace(card.load("bouncing-balls"), frees=["bulk"])
    monkeypatch.setattr(preparation, "can_be_marked", lambda _: False)
    taken = dragging.take(tmp_path / "drag.json", described, "quick", str)
    assert taken.objects is None
    assert taken.chunks is not None
    assert (taken.chunks.variant, taken.chunks.marked) == ("custom", False)
    assert taken.chunks.level.total.objects > 0
    (said,) = taken.notes
    assert "hides its drag" in said


def test_what_was_seen_of_objects_is_not_lost_with_the_chunks(tmp_path, monkeypatch):
    ready = preparation.prepare("sed", scale=1)

    def prepared(_name, variant, *, marked=False, **_):
        assert not marked
        if variant == "custom":
            raise ReapError("there is <no> program")
        return ready

    monkeypatch.setattr(preparation, "prepare", prepared)
    monkeypatch.setattr(measuring, "lacking", lambda _: "")
    taken = dragging.take(tmp_path / "drag.json", card.load("cpython"), "quick", str)
    assert taken.objects is not None
    assert taken.chunks is None
    assert taken.notes[0] == "chunks: there is <no> program"


def heights(drawing):
    """Where each layer begins and ends, from the bottom up, in parts of the highest one's end."""
    found = []
    for path in re.findall(r'<path d="([^"]+)" clip-path="[^"]+" style="fill: (?!none)', drawing):
        rows = [float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", path)]
        found += [max(rows), min(rows)]
    bottom, top = found[0], min(found)
    return [(bottom - y) / (bottom - top) for y in found]


def test_what_is_dragged_lies_on_what_is_needed_by_site():
    drawn = areas.draw("t", level())
    assert heights(drawn) == pytest.approx([0.0, 0.4, 0.4, 0.7, 0.7, 0.9, 0.9, 1.0])
    places = [drawn.index(name) for name in ("needed: ", "dragged: big", "dragged: small", "all others")]
    assert places == sorted(places)
