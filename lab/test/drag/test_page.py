"""Drag on its page: the curves with what is dragged by site, its tables, and names that stay text."""

from types import SimpleNamespace

import msgspec
import pytest
from answers import answer, fields_of
from samples import HOSTILE, report_of
from terminals import flat, printed

from reap.answer import html
from reap.answer.trim import STEPS, trim
from reap.base.records import Estimate
from reap.drag import figures
from reap.drag.exact import page as drag_page
from reap.drag.exact import terminal, view
from reap.drag.exact.records import DragLevel, DragPoint, DragProcess, DragProfile, DragSite, Tally
from reap.drag.sample import words as sample_words
from reap.drag.sample.records import SampledSite
from reap.draw.html import MOST_BYTES

NONE = Tally(objects=0, bytes=0)
changed = msgspec.structs.replace

DRAWN = 'data-figure="drag"'


def site(name: str, share: float, dragged: list[float] | None = None, **changes: object) -> DragSite:
    fields: dict[str, object] = {
        "function": name,
        "location": "work.c:7",
        "module": "/usr/bin/work",
        "stack": [f"{name} (work.c:7)", "main (work.c:1)"],
        "objects": 10,
        "bytes": 1000,
        "live_area": "0",
        "needed_area": "0",
        "share": share,
        "live_at_peak": 500,
        "dragged_at_peak": 100,
        "never": NONE,
        "write_only": NONE,
        "released": NONE,
        "saves": 100,
        "dragged": dragged,
    }
    return msgspec.convert({**fields, **changes}, DragSite)


def level(live: float = 1000.0, needed: float = 400.0, **changes: object) -> DragLevel:
    """Two stretches; of what is dragged 300 bytes are `big`'s, 200 `small`'s, and the rest is others'."""
    point = DragPoint(at=0.0, live=live, needed=needed, most_live=live, most_needed=needed)
    fields: dict[str, object] = {
        "name": "objects",
        "total": Tally(objects=20, bytes=2000),
        "drag": live / needed,
        "live_area": "2000000",
        "needed_area": "800000",
        "peak": 1000,
        "needed_peak": 400,
        "peak_ratio": 2.5,
        "peak_at": 900,
        "never": Tally(objects=3, bytes=300),
        "write_only": NONE,
        "released": NONE,
        "curve": [point, changed(point, at=1000.0)],
        "sites": [site("big", 0.5, [300.0, 300.0]), site("small", 0.3, [200.0, 200.0]), site("rest", 0.2)],
    }
    return changed(DragLevel(**fields), **changes)  # type: ignore[arg-type]


def profile_of(*levels: DragLevel, processes: int = 1) -> DragProfile:
    process = DragProcess(pid=7, parent=1, command=["work"], forked=False, end="exited", levels=list(levels))
    held = [changed(process, pid=number) for number in range(processes)]
    return DragProfile(command=["work"], engine="exact", status=0, processes=held)


def test_the_result_comes_before_the_table():
    shown = flat(printed(terminal.render, profile_of(level())))
    assert shown.index("Total drag 2.50.") < shown.index("freed at once")


def test_a_site_has_no_more_than_all_of_the_drag():
    share = Estimate(value=1.25, low=0.0, high=1.25)
    few = SampledSite(
        function="f", location="w.c:1", module="w", stack=[], samples=13, bytes=1.0, share=share, few=False
    )
    sampled = SimpleNamespace(sites=[few])
    assert sample_words.site_rows(sampled, 5, 30)[0][1][0] == "100 % [0 %, 100 %]"


@pytest.mark.parametrize(
    ("drag", "words"),
    [
        (Estimate(value=2.0, low=1.5, high=2.5), "perl holds 2.00 [1.500, 2.50] times"),
        (Estimate(value=2.0, low=1.0, high=40.0), "perl holds about 2.00 times"),
        (None, "Inconclusive: too few objects of perl"),
    ],
)
def test_the_sampled_page_begins_with_its_verdict(drag, words):
    share = Estimate(value=1.25, low=0.0, high=1.25)
    few = SampledSite(
        function="f", location="w.c:1", module="w", stack=[], samples=13, bytes=1.0, share=share, few=False
    )
    process = SimpleNamespace(program="/usr/bin/perl", drag=drag, sites=[few])
    first, *others = sample_words.verdict([process])
    assert first.startswith(words)
    assert others == ([] if drag is None else ["About 100 % of that drag comes from f."])
    assert sample_words.verdict([]) == ["No process of it allocated anything."]


def test_a_small_difference_has_a_figure_of_its_own() -> None:
    thin = level(needed=950.0, sites=[site("big", 0.6, [30.0, 30.0]), site("rest", 0.4)])
    assert [each.option for each in figures.of_level(thin, "0_1")] == ["all-0_1", "alone-0_1"]
    assert [each.option for each in figures.of_level(level())] == ["all-"]  # it is seen well as it is
    assert len(figures.of_level(level(needed=1000.0, sites=[]))) == 1
    assert figures.of_level(level(curve=[])) == []


def test_data_of_a_figure_are_short() -> None:
    """A page of eight processes has the data of each beside its tables."""
    many = [site("f<" * 4000, 0.01, [1.0, 1.0], stack=["x" * 4000]) for _ in range(40)]
    assert len(msgspec.json.encode(figures.data_of(level(sites=many, before_free=level())))) < 3000


def test_the_page_has_curves_tables_and_what_was_never_accessed() -> None:
    unused = site("unused", 0.2, never=Tally(objects=3, bytes=300), saves=250)
    page = drag_page.render(profile_of(level(sites=[*level().sites, unused])))
    assert page.count(DRAWN) == 1
    assert "never accessed: 3 objects, 300\u00a0B" in page
    savings = page[page.index("would lower the peak most") :]
    assert savings.index("unused") < savings.index("big")
    assert "150\u00a0%" in page  # the increase, as Table 4 has it
    assert "sees every access" in page


def test_objects_and_chunks_are_told_apart() -> None:
    page = drag_page.render(profile_of(level(), changed(level(), name="chunks")))
    assert page.count(DRAWN) == 2
    assert "Objects: what the program allocates" in page


def test_where_accesses_may_only_free_both_figures_are_shown() -> None:
    released = level(needed=1000.0, released=Tally(objects=7, bytes=700), before_free=level())
    page = drag_page.render(profile_of(released))
    assert "Total drag 1.000 to 2.50: 7 objects were last accessed just before being freed" in page
    assert "objects, without release" in page
    assert "without release: accesses made while freeing" in page
    assert page.count(DRAWN) == 2  # the curves of the second, too
    alike = changed(released, before_free=level(needed=995.0, peak_ratio=1.005))
    same = drag_page.render(profile_of(changed(alike, peak_ratio=1.0)))
    assert "Total drag 1.000." in same
    assert "objects, without release" in same
    assert "again, without release" not in same


def test_many_processes_have_an_overview_and_the_first_is_open() -> None:
    shown = view.view(profile_of(level(), processes=60))
    assert len(shown.overview) + shown.left_out == 60
    page = drag_page.render(profile_of(level(), processes=60))
    assert f"{shown.left_out} more processes" in page
    assert page.count('<details class="process">') == len(shown.processes) - 1


def test_names_of_the_program_stay_text() -> None:
    hostile = changed(
        profile_of(level(sites=[site(HOSTILE, 1.0, [600.0, 600.0], location=HOSTILE, stack=[HOSTILE])])),
        command=[HOSTILE],
        notes=[HOSTILE],
    )
    assert HOSTILE not in drag_page.render(hostile)


def test_nothing_was_allocated() -> None:
    assert "No process of it allocated anything" in drag_page.render(profile_of(processes=0))


def test_the_report_has_drag_and_is_cut_until_it_fits() -> None:
    many = [site(f"f{number}", 0.001, stack=[HOSTILE * 40] * 40) for number in range(200)]
    full = level(sites=[*level().sites, *many])
    whole = profile_of(changed(full, drag=1.0, before_free=full), processes=50)
    report = report_of(answer(title="work", command=["work"], drag=whole))
    page = html.render(report)
    assert len(page.encode()) <= MOST_BYTES
    assert "Memory held after its last use (drag)" in page
    assert HOSTILE not in page
    cut = fields_of(trim(report, STEPS[0]).answers[0]).drag
    assert cut is not None
    assert len(cut.processes) == 50
    shown = view.view(cut)
    assert all(each.levels[0].drawings and each.levels[1].drawings for each in shown.processes)
    assert len(shown.processes) < len(shown.overview)


def test_processes_that_the_page_leaves_out_are_counted() -> None:
    most = STEPS[0].processes
    whole = answer(title="make", command=["make"], drag=profile_of(level(), processes=most + 50))
    cut = fields_of(trim(report_of(whole), STEPS[0]).answers[0]).drag
    assert f"the first {most} of {most + 50} processes" in cut.notes[0]


def test_a_page_of_drag_alone_is_bounded() -> None:
    sites = [site(f"f{number}", 0.02, [9.0, 9.0], stack=["f<" * 800] * 12) for number in range(40)]
    whole = changed(profile_of(level(sites=sites), processes=8), command=["perl", "-e", "x" * 100_000])
    assert len(drag_page.render(whole).encode()) <= MOST_BYTES
