"""The papers' own figures, put through the rules: a rule that refutes the paper by its own data is wrong.

Those of ISMM 2026 are the times of its artefact. Where OOPSLA 2002 gives no figure, one that agrees with its
words stands in; those are marked.
"""

import re
from statistics import fmean

import msgspec
import pytest
from fragmented_samples import fragmented_of
from samples import around, exactly_paired, recorded, share_of
from studies.test.study.copies import foreign

from reap.drag.exact.records import DragLevel, Tally
from reap.launch.litter.level import LEVELS
from reap_studies.study.ismm2026 import artefact, judge, published
from reap_studies.study.oopsla2002 import judge as oopsla2002_claims
from reap_studies.study.oopsla2002 import published as oopsla2002_published
from reap_studies.study.oopsla2002.drag import judge as oopsla2002_drag_claims
from reap_studies.study.oopsla2002.drag.records import Dragged
from reap_studies.study.records import Drag, Measured, Statistics
from reap_studies.workloads import card

NOTHING = Tally(objects=0, bytes=0)
MODERN = ("glibc", "jemalloc", "mimalloc")


def program(name, times, *, kind="region", partial="", levels=("adv0", "adv3"), memory=1.0):
    """A program whose arms, by (variant, allocator, level), took these times; 1 where none is given."""
    variants = list(dict.fromkeys(variant for variant, _, _ in times))
    allocators = list(dict.fromkeys(allocator for _, allocator, _ in times))
    result = fragmented_of(variants, allocators, levels)

    def time(variant, allocator, level):
        return times.get((variant, allocator, level), times.get((variant, allocator, "adv0"), 1.0))

    arms = [
        msgspec.structs.replace(
            arm,
            normalised={"cpu": exactly_paired(time(*where))},
            slowdown={"cpu": exactly_paired(time(*where) / time(arm.variant, arm.allocator, "adv0"))},
            to_custom={
                "cpu": exactly_paired(time(*where) / time("custom", arm.allocator, arm.level)),
                "peak_resident": exactly_paired(memory),
            },
        )
        for arm in result.arms
        for where in [(arm.variant, arm.allocator, arm.level)]
    ]
    described = foreign(
        card.load("chart-parser"),
        name=name,
        kind=kind,
        partial=partial,
        chunks=kind != "per-class",
        microbenchmark=name == "freelist",
    )
    return Measured(card=described, version="", scale=1, result=msgspec.structs.replace(result, arms=arms))


def ismm(name, clean, littered, *, kind="region", partial="", custom_littered=1.0):
    """By allocator: naive to custom on a clean heap, and naive's slowdown; custom takes 1 over each."""
    times = {}
    for allocator, gap, slowdown in zip(MODERN, clean, littered, strict=True):
        times |= {
            ("custom", allocator, "adv0"): 1.0,
            ("custom", allocator, "adv3"): custom_littered,
            ("naive", allocator, "adv0"): gap,
            ("naive", allocator, "adv3"): gap * slowdown,
        }
    return program(name, times, kind=kind, partial=partial)


def in_the_artefact(each):
    """A program of the artefact: the mean of each arm's times to those of custom over glibc, clean heap."""
    kind = next(one.kind for one in published.PROGRAMS if one.program == each.program)
    base = fmean(each.custom["glibc"]["adv0"])
    times = {
        (variant, allocator, level): fmean(times) / base
        for variant, by_allocator in (("custom", each.custom), ("naive", each.naive))
        for allocator, by_level in by_allocator.items()
        for level, times in by_level.items()
    }
    return program(each.program, times, kind=kind, partial="most of it" if each.program == "Clang" else "")


def ismm_programs():
    """By the times in the authors' artefact; the microbenchmark by the paper's text."""
    return [
        *map(in_the_artefact, artefact.published().program),
        ismm("freelist", (1.24, 1.11, 1.08), (1.0, 1.0, 1.0), kind="per-class"),
    ]


def test_ismm_2026_holds_by_its_own_figures():
    judged = {each.id: each for each in judge.judge(ismm_programs(), []) if each.id != "occupancy"}
    others = {name: each.standing for name, each in judged.items() if each.standing != "holds"}
    assert others == {
        # It has one program with a per-class allocator, and one with a partial region.
        "per-class-no-benefit": "inconclusive",
        "per-class-no-protection": "inconclusive",
        "partial-regions": "inconclusive",
    }
    against = [each.workload for each in judged["near-regions"].findings if each.side == "against"]
    assert against == ["sculpt"], "Figure 5 and the 15 % of the text are without it"


def test_the_text_of_ismm_2026_agrees_with_its_artefact():
    """Each percentage over mimalloc: of naive to the best custom, and of naive slowed."""
    for each in artefact.published().program:
        (said,) = (one for one in published.PROGRAMS if one.program == each.program)
        best = min(fmean(levels["adv0"]) for levels in each.custom.values())
        clean = fmean(each.naive["mimalloc"]["adv0"])
        littered = fmean(each.naive["mimalloc"]["adv3"])
        for text, value in ((said.clean, clean / best), (said.littered, littered / clean)):
            if percents := re.match(r"([\d.]+) % \(mimalloc\)", text):
                assert 100 * (value - 1) == pytest.approx(float(percents[1]), abs=0.5), each.program


def test_the_artefact_has_every_program_and_run():
    theirs = artefact.published()
    assert [each.program for each in theirs.program] == [
        each.program for each in published.PROGRAMS if not each.excluded
    ]
    for each in theirs.program:
        runs = 31 if each.file.startswith("graphs/data/blender") else 13
        for variant, levels in ((each.custom, ("adv0", "adv3")), (each.naive, tuple(LEVELS))):
            assert list(variant) == list(MODERN)
            for times in variant.values():
                assert {name: len(of_level) for name, of_level in times.items()} == dict.fromkeys(
                    levels, runs
                )
    ratios = {(each.program, each.allocator, each.figure): each.artefact for each in artefact.compared([])}
    assert len(ratios) == 8 * 3 * 3
    mudlle = ratios["mudlle", "glibc", artefact.NAIVE_SLOWED]
    assert mudlle.low < mudlle.value < mudlle.high
    assert mudlle.value == pytest.approx(4385 / 2556, rel=0.01)


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        ("no protection", ismm("boxed-sim", (1.2, 1.04, 1.02), (2.6, 2.6, 2.6), kind="per-class")),
        ("16 bytes", ismm("freelist", (1.2, 1.9, 1.9), (1, 1, 1), kind="per-class")),
        ("Partial regions", ismm("Clang", (1, 1, 1), (1.3, 1.3, 1.3), partial="it", custom_littered=1.3)),
    ],
)
def test_what_one_figure_hid(claim, changed):
    """A freelist that protects; a bound for glibc that mimalloc passed; a region that resists nothing."""
    programs = [each for each in ismm_programs() if each.card.name != changed.card.name]
    judged = judge.judge([*programs, changed], [])
    (found,) = [each for each in judged if claim in each.claim]
    assert found.standing != "holds"


def test_one_figure_of_twelve_makes_no_conclusion():
    """Figures are inconclusive where runs are noisy; the few that are not say nothing of the rest."""
    noisy = around(1.0, 0.2)
    programs = [ismm(f"r{number}", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)) for number in range(4)]
    for number, each in enumerate(programs[1:], 1):
        arms = [
            msgspec.structs.replace(
                arm, slowdown={"cpu": msgspec.structs.replace(arm.slowdown["cpu"], ratio=noisy)}
            )
            for arm in each.result.arms
        ]
        programs[number] = msgspec.structs.replace(
            each, result=msgspec.structs.replace(each.result, arms=arms)
        )
    (found,) = [each for each in judge.judge(programs, []) if "Regions are not" in each.claim]
    assert [each.side for each in found.findings].count("for") == 3
    assert found.standing == "inconclusive"


def oopsla(name, system, lea, reaps, *, kind="region", replaced=None, memory=1.0):
    """To custom: over the system's malloc, over Lea's, over reaps; a reap in place of the region; memory."""
    times = {("custom", name, "adv0"): 1.0 for name in ("glibc", "win32-like", "dlmalloc", "reap")}
    if replaced is not None:
        times[("reap", "glibc", "adv0")] = replaced
    times |= {("naive", name, "adv0"): system for name in ("glibc", "win32-like")}
    times |= {("naive", "dlmalloc", "adv0"): lea, ("naive", "reap", "adv0"): reaps}
    return program(name, times, kind=kind, levels=("adv0",), memory=memory)


def test_oopsla_2002_holds_by_its_own_figures():
    # The paper gives bounds, "more than 60 %", "less than 10 %", "less than 2 %": these are within them.
    programs = [
        oopsla("197.parser", 1.65, 1.02, 1.30, kind="hybrid", memory=0.15),
        oopsla("boxed-sim", 1.05, 1.01, 1.02, kind="per-class", memory=1.0),
        oopsla("C-Breeze", 1.30, 0.99, 1.30, kind="per-class", memory=0.9),
        oopsla("175.vpr", 1.02, 1.00, 1.00, memory=1.08),
        oopsla("176.gcc", 1.20, 1.02, 1.03, memory=1.47),
        oopsla("apache", 1.03, 1.01, 1.01, memory=0.8),
        oopsla("lcc", 1.40, 1.21, 1.07, replaced=1.07, memory=1.1),
        oopsla("mudlle", 1.65, 1.47, 1.07, replaced=1.07, memory=0.9),
    ]
    names = [each.card.name for each in programs]
    taken = [
        Statistics(
            card=msgspec.structs.replace(
                card.load("chart-parser"), name=each.program, kind="region" if each.allocator else "ordinary"
            ),
            scale=1,
            totals=recorded("perl", 0.1).totals,
            share=share_of(each.share, 0.001),
        )
        for each in oopsla2002_published.PROGRAMS
    ]
    assert names == [each.program for each in oopsla2002_published.PROGRAMS if each.allocator]
    judged = oopsla2002_claims.judge(programs, taken)
    standings = {each.claim: each.standing for each in judged}
    assert set(standings.values()) == {"holds"}, standings


def test_drag_holds_by_the_paper_s_own_figures():
    def seen(name, drag, peak):
        level = DragLevel(
            name="objects",
            total=NOTHING,
            drag=drag,
            live_area="0",
            needed_area="0",
            peak=0,
            needed_peak=0,
            peak_ratio=peak,
            peak_at=0,
            never=NOTHING,
            write_only=NOTHING,
            released=NOTHING,
            curve=[],
            sites=[],
        )
        return Drag(
            card=foreign(card.load(name.split()[0]), name=name),
            scale=1,
            objects=Dragged(variant="naive", marked=False, level=level),
        )

    # Bars without a number in the text agree with the averages: those of 175.vpr and apache, of the programs
    # that are no regions, and of 255.vortex among nine others.
    unsaid = {"175.vpr": 1.03, "apache": 1.03}
    regions = [
        seen(each.here, each.drag or unsaid[each.program], each.peak_ratio)
        for each in oopsla2002_published.FOOTPRINTS
    ]
    others = [seen(f"chart-parser {number}", 1.0, 1.0) for number in range(3)]
    others += [*(seen(f"perl {number}", 1.02, 1.0) for number in range(9)), seen("sqlite", 1.9, 1.5)]
    judged = oopsla2002_drag_claims.judge([*regions, *others])
    stands = {each.id: each.standing for each in judged if each.standing != "holds"}
    assert stands == {
        "compiler-drag": "inconclusive",  # of one input
        "region-peak-average": "inconclusive",  # of five programs, one is far from the others
    }
    averages = oopsla2002_published.AVERAGE_DRAG
    assert round(oopsla2002_drag_claims.average_drag(regions, "region") or 0, 1) == averages["region"]
    most = oopsla2002_drag_claims.most_drag(regions, "region")
    rest = oopsla2002_drag_claims.average_drag(regions, "region", without=most)
    assert (most, round(rest or 0, 1)) == ("lcc", oopsla2002_published.AVERAGE_WITHOUT_LCC)
    assert round(oopsla2002_drag_claims.average_drag(others, "ordinary") or 0, 1) == averages["ordinary"]


def test_what_stands_for_a_published_program_is_a_workload():
    every = [
        *published.PROGRAMS,
        *oopsla2002_published.PROGRAMS,
        *oopsla2002_published.FOOTPRINTS,
    ]
    for each in every:
        assert not each.here or card.load(each.here).name == each.here
