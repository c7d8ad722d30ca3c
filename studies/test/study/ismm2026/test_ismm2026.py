"""The ISMM 2026 study: conclusions follow from figures, the page shows all of it, a study goes on."""

import csv
import io
import json
import re

import msgspec
import pytest
from fragmented_samples import arm_of, fragmented_of
from rich.console import Console
from samples import HOSTILE, around, exactly_paired, machine, ratio_of
from studies.test.study.copies import copies, foreign

from reap.allocators.records import Allocator
from reap.base import units
from reap.compare.levels.records import FailedControl
from reap.experiment.folder import read_runs
from reap.experiment.runner import Listener
from reap.launch.records import Misses
from reap_studies.study import figures, measuring, pacing
from reap_studies.study import page as reporter
from reap_studies.study.drawing.bars import Bar, draw
from reap_studies.study.folder import begin
from reap_studies.study.ismm2026 import run as ismm2026
from reap_studies.study.ismm2026 import slowdowns
from reap_studies.study.ismm2026.judge import judge
from reap_studies.study.ismm2026.view import view
from reap_studies.study.ismm2026.words import answers
from reap_studies.study.judging.ratios import best_ratio
from reap_studies.study.records import Measured, Plan, Study
from reap_studies.workloads import card

MODERN = ("glibc", "jemalloc", "mimalloc")


def measured(name="chart-parser", kind="region", **changes):
    """One workload; `changes` are arms by (variant, allocator, level), each a dictionary of its fields."""
    arms = changes.pop("arms", {})
    result = fragmented_of(("custom", "naive"), MODERN, ("adv0", "adv3"), **changes)
    made = [
        arm_of(arm.variant, arm.allocator, arm.level, **arms.get((arm.variant, arm.allocator, arm.level), {}))
        for arm in result.arms
    ]
    described = foreign(card.load("chart-parser"), name=name, kind=kind, partial="")
    return Measured(card=described, version="1", scale=5, result=msgspec.structs.replace(result, arms=made))


def naive_to_custom(value, half=0.005, kind="per-class", name="balls"):
    ratios = {"to_custom": {"cpu": ratio_of("cpu", value, half)}}
    return measured(name, kind, arms={("naive", each, "adv0"): ratios for each in MODERN})


def slowed(variant, value, half=0.005, **more):
    ratios = {"slowdown": {"cpu": ratio_of("cpu", value, half), "minor_faults": ratio_of("minor_faults", 3)}}
    return measured(arms={(variant, each, "adv3"): ratios for each in MODERN}, **more)


def conclusion(words, *each):
    (found,) = [one for one in judge(copies(each), []) if words in one.claim]
    return found


BENEFIT = "no substantial benefit"


@pytest.mark.parametrize(
    ("ratios", "standing"),
    [
        ([], "inconclusive"),
        ([(1.01, 0.005)], "holds"),
        ([(0.90, 0.005)], "holds"),
        ([(1.20, 0.005)], "does not hold"),
        ([(1.01, 0.005), (1.20, 0.005)], "holds"),  # said of most
        ([(1.01, 0.005), (1.20, 0.005), (1.20, 0.005)], "holds partly"),
        ([(1.05, 0.030)], "inconclusive"),
        ([(1.01, 0.005), (1.05, 0.030)], "holds"),
    ],
)
def test_a_conclusion_stands_as_its_intervals_do(ratios, standing):
    programs = [naive_to_custom(*each, name=f"balls{number}") for number, each in enumerate(ratios)]
    found = conclusion(BENEFIT, *programs)
    assert found.standing == standing
    assert len(found.findings) == 3 * 2 * len(ratios)  # over jemalloc and mimalloc; glibc is no modern one
    if ratios:
        assert "balls" in found.answer
    else:
        assert "Nothing was measured" in found.answer


def test_only_its_own_kind_counts():
    assert conclusion(BENEFIT, naive_to_custom(1.3, kind="region")).findings == []
    excluded = msgspec.structs.replace(naive_to_custom(1.3), result=None, excluded="not installed")
    assert conclusion(BENEFIT, excluded).findings == []
    bound = named("freelist", 1.3, microbenchmark=True)
    assert conclusion(BENEFIT, bound).findings == []
    assert conclusion("16 bytes", bound).standing == "holds"
    assert conclusion("16 bytes", named("freelist", 1.9, microbenchmark=True)).standing == "does not hold"


def named(name, value, **card_changes):
    one = naive_to_custom(value, name=name)
    return msgspec.structs.replace(one, card=msgspec.structs.replace(one.card, **card_changes))


def test_what_does_not_count_is_shown_beside_the_conclusion():
    """Per-class allocators that were left out, and how RQ1 stands without each exclusion."""
    counted = naive_to_custom(1.2)
    gawk, control = named("gawk", 1.01, partial="strings"), named("sqlite-lookaside", 1.0, control=True)
    assert conclusion(BENEFIT, counted).sensitivity == []
    found = conclusion(BENEFIT, counted, gawk, control)
    assert found.standing == "does not hold"
    excluded = {each.workload: each.excluded for each in found.findings if "-" not in each.workload[-2:]}
    assert excluded == {"balls": [], "gawk": ["partial"], "sqlite-lookaside": ["control"]}
    stands = {each.what: each.standing for each in found.sensitivity}
    assert stands == {"without the exclusion control": "holds", "without the exclusion partial": "holds"}
    said = "ithout the exclusion control: holds (6 programs, mean 1.095 ["
    every = copies([counted, gawk, control])
    assert said in reporter.page(study_of(*every)).replace("\u00a0", " ")
    (first, *_) = answers(judge(every, []))
    assert any(said in each for each in first.words)


def test_a_claim_is_inconclusive_without_an_allocator_that_it_names():
    values = {(variant, name): 1.0 for variant in ("custom", "naive") for name in MODERN}
    one = measured(arms=normalised(values | {("naive", "glibc"): 1.6}))
    assert conclusion("come near", one).standing == "holds"
    without = msgspec.structs.replace(
        one, result=msgspec.structs.replace(one.result, allocators=["glibc", "jemalloc"])
    )
    found = conclusion("come near", without)
    assert found.standing == "inconclusive"
    assert found.answer.startswith("Not measured: mimalloc, which it names. 3 programs: 3 for it, ")


def test_regions_on_fragmented_heaps():
    assert conclusion("Regions are not slowed", slowed("custom", 1.01)).standing == "holds"
    assert conclusion("Regions are not slowed", slowed("custom", 1.30)).standing == "does not hold"
    partial = slowed("custom", 1.30)
    partial = msgspec.structs.replace(partial, card=msgspec.structs.replace(partial.card, partial="much"))
    (resist,) = {tuple(each.excluded) for each in conclusion("Regions are not slowed", partial).findings}
    assert resist == ("partial",)
    assert conclusion("Partial regions", partial).standing == "holds"
    assert conclusion("Naive allocation is slowed", slowed("naive", 1.8)).standing == "holds"
    assert conclusion("Naive allocation is slowed", slowed("naive", 1.01)).standing == "does not hold"


def test_an_unprotected_class_is_judged_only_where_naive_suffers():
    calm = slowed("naive", 1.0, kind="per-class")
    assert conclusion("no protection", calm).findings == []
    assert conclusion("no protection", protected(1.5, 1.5)).standing == "holds"
    assert conclusion("no protection", protected(1.13, 2.6)).standing == "does not hold"


def protected(custom, naive):
    """A per-class program, slowed by so much with its freelists and without."""
    ratios = {"custom": {"cpu": exactly_paired(custom)}, "naive": {"cpu": exactly_paired(naive)}}
    arms = {(variant, name, "adv3"): {"slowdown": ratios[variant]} for variant in ratios for name in MODERN}
    return measured(kind="per-class", arms=arms)


def normalised(values, rounds=6):
    """Arms at adv0 with these ratios to the baseline, the same in every round."""
    return {
        (variant, allocator, "adv0"): {"normalised": {"cpu": exactly_paired(value, rounds)}}
        for (variant, allocator), value in values.items()
    }


def test_the_best_of_both_sides_are_compared():
    values = {("custom", "glibc"): 1.0, ("custom", "jemalloc"): 0.8, ("custom", "mimalloc"): 0.9}
    values |= {("naive", "glibc"): 1.6, ("naive", "jemalloc"): 1.2, ("naive", "mimalloc"): 1.0}
    one = measured(arms=normalised(values))
    naive, custom, ratio = best_ratio(one.result)
    assert (naive, custom) == ("mimalloc", "jemalloc")
    assert ratio.value == pytest.approx(1.25)
    assert conclusion("come near", one).standing == "does not hold"
    assert conclusion("can still run", one).standing == "holds"
    assert conclusion("mimalloc is the best", one).standing == "holds"
    gone = measured(arms=normalised(values | {("naive", "jemalloc"): 0.7}))
    assert conclusion("can still run", gone).standing == "outdated"
    assert conclusion("come near", gone).standing == "holds"
    assert conclusion("mimalloc is the best", gone).standing == "holds partly"


def study_of(*each, occupancy=()):
    return Study(
        plan=Plan(study="ismm2026", mode="quick", workloads=[], allocators=list(MODERN)),
        reap_version="1",
        created="2026-01-01T00:00:00+00:00",
        machine=machine(),
        measured=list(each),
        occupancy=list(occupancy),
        conclusions=judge(each, list(occupancy)),
    )


def test_the_page_shows_all_of_it(tmp_path):
    absent = Measured(
        card=msgspec.structs.replace(card.load("fpga-placer"), name="absent"),
        version="",
        scale=1,
        excluded=f"no room {HOSTILE}",
    )
    study = study_of(*copies([naive_to_custom(1.3), measured()]), absent)
    page = reporter.page(study)
    for each in study.conclusions:
        assert each.claim in page
        assert each.published in page
    for number in range(1, 5):
        assert f"Table {number}." in page
    for number in range(2, 7):
        assert f"Figure {number}." in page
    assert "no substantial benefit over a modern general-purpose allocator: does not hold" in page
    assert page.count("<script") == 2, "those of the theme"
    assert HOSTILE not in page
    names = [path.name for path in reporter.write(study, tmp_path)]
    assert names[:3] == ["study.html", "study.json", "figures.csv"]
    assert "figure-5.svg" in names
    assert (tmp_path / "figure-5.svg").read_text() in page
    assert msgspec.json.decode((tmp_path / "study.json").read_bytes(), type=Study) == study
    out = io.StringIO()
    reporter.render(Console(file=out, width=100), study)
    assert "does not hold" in out.getvalue()
    assert "not measured: absent" in out.getvalue()


def test_the_artefact_s_figures_stand_beside_ours():
    """A workload stands for its program alone; what was not measured is a dash, not a figure."""
    ours = measured(
        "mudlle",
        arms={
            ("naive", "glibc", "adv0"): {"to_custom": {"cpu": exactly_paired(1.51)}},
            ("naive", "glibc", "adv3"): {"slowdown": {"cpu": exactly_paired(2.02)}},
            ("custom", "glibc", "adv3"): {"slowdown": {"cpu": exactly_paired(1.03)}},
        },
    )
    study = study_of(ours)
    (table,) = [each for each in view(study).tables if each.title.startswith("Paper, artefact, here.")]
    assert "Xeon Gold 6430" in table.title
    assert "machines differ" in table.title
    rows = {(row[0], row[3]): row for row in table.rows}
    assert len(rows) == 8 * 3
    row = rows["mudlle", "glibc"]
    assert row[2] == "mudlle"
    assert row[1].startswith("15 % (mimalloc)")
    theirs, here = row[4::2], row[5::2]
    assert [each.split()[0] for each in theirs] == ["1.362", "1.717", "1.009"]
    assert here == ["1.510", "2.02", "1.030"]
    assert rows["boxed-sim", "glibc"][5::2] == [units.UNKNOWN] * 3
    lines = [row for row in csv.DictReader(io.StringIO(figures.table(study))) if row["part"] == "artefact"]
    assert len(lines) == 8 * 3 * 3 + 3 * 3
    assert lines[0]["workload"] == "boxed-sim"
    assert lines[0]["figure"] == "elapsed naive to custom, clean heap"
    ours = [
        line["value"] for line in lines if line["allocator"] == "glibc" and line["figure"].startswith("cpu ")
    ]
    assert ours == ["1.51", "2.02", "1.03"]


def test_a_peer_counts_where_the_best_is_compared_and_nowhere_else():
    """snmalloc is none of the paper's: it is the best here, and its slowdown is not held against regions."""
    own = measured()
    slow = {"slowdown": {"cpu": exactly_paired(9.0, 15), "minor_faults": ratio_of("minor_faults", 3)}}
    fast = {"normalised": {"cpu": exactly_paired(0.5, 15)}, "to_custom": {"cpu": exactly_paired(0.5, 15)}}
    added = [
        arm_of("custom", "snmalloc", "adv0"),
        arm_of("custom", "snmalloc", "adv3", **slow),
        arm_of("naive", "snmalloc", "adv0", **fast),
        arm_of("naive", "snmalloc", "adv3", **slow),
    ]
    result = msgspec.structs.replace(
        own.result, allocators=[*MODERN, "snmalloc"], arms=[*own.result.arms, *added]
    )
    beside = msgspec.structs.replace(own, result=result)
    for alone, with_it in zip(judge([own], []), judge([beside], []), strict=True):
        if alone.id in ("near-regions", "regions-can-win"):
            assert "snmalloc" in with_it.findings[0].figure
        else:
            assert with_it.findings == alone.findings, alone.id


def swept(times, first, last):
    """At three occupancies of Figure 3: CPU time, and misses of both levels at the lowest and the highest."""
    levels = {"adv0": 1.0, "adv1": times[0], "adv3": times[1]}
    result = fragmented_of(("naive",), ("jemalloc",), tuple(levels))
    misses = {"adv1": (100, 100), "adv3": (first, last), "adv0": (90, 90)}
    arms = [
        msgspec.structs.replace(
            arm,
            normalised={"cpu": exactly_paired(levels[arm.level])},
            misses=Misses(instructions=1, first=misses[arm.level][0], last=misses[arm.level][1]),
        )
        for arm in result.arms
    ]
    return msgspec.structs.replace(measured(), result=msgspec.structs.replace(result, arms=arms))


@pytest.mark.parametrize(
    ("times", "first", "last", "standing"),
    [
        ((1.1, 1.5), 100, 200, "holds"),
        ((1.1, 1.5), 200, 100, "holds"),  # of the first level, as the paper has it for Clang
        ((1.1, 1.5), 100, 100, "does not hold"),
        ((1.5, 1.1), 200, 200, "does not hold"),
    ],
)
def test_figure_3_asks_for_time_and_misses(times, first, last, standing):
    both = copies([swept(times, first, last)])
    (found,) = [each for each in judge([], both) if each.question == "Figure 3"]
    assert found.standing == standing


def test_a_region_that_is_slowed_has_its_causes():
    slow = slowed("custom", 1.3, name="slow")
    calm = slowed("custom", 1.01, name="calm")
    mapped = slowed("custom", 1.01, name="mapped")
    mapped = msgspec.structs.replace(
        mapped, card=msgspec.structs.replace(mapped.card, chunks_from="system", name="mapped")
    )
    assert [slowdowns.much(each, "quick") for each in (slow, calm, mapped)] == [True, False, False]
    doubtful = slowed("custom", 1.3, half=0.4)
    assert [slowdowns.much(doubtful, mode) for mode in ("quick", "full")] == [False, True]
    # An experiment of one variant has it by another name.
    simulated = fragmented_of(("default",), MODERN, ("adv0", "adv3"))
    found = slowdowns.of_regions([slow, calm, mapped], {"slow": simulated})
    assert [each.reached for each in found] == 6 * [True] + 3 * [False]
    causes = "; ".join(found[0].causes)
    for words in ("inside malloc", "page faults", "misses in simulated caches"):
        assert words in causes
    assert all(each.causes == [] for each in found[3:])
    hybrid = slowed("custom", 1.3, kind="hybrid")
    assert not slowdowns.much(hybrid, "full")


def test_what_explains_a_slowdown_is_measured_on_all_cores_that_the_study_has(tmp_path, monkeypatch):
    class Cores:
        cores = 2

    asked = []

    def taken(works, _mode, _listener, *, most, elsewhere=None):
        asked.append(([work.place.name for work in works], most, elsewhere))
        found = [slowed("custom", 1.3, name=work.described.name) for work in works]
        return found if len(asked) == 1 else [msgspec.structs.replace(each, result=None) for each in found]

    monkeypatch.setattr(pacing, "measure", taken)
    names, here = ["chart-parser", "mudlle"], Cores()
    plan = Plan(study="ismm2026", mode="full", workloads=names, allocators=["glibc"], rounds=12)
    study = ismm2026.run(tmp_path, plan, [Allocator(name="glibc")], Listener(), here)
    assert asked[0] == ([*names, "chart-parser-occupancy"], 12, here)
    assert asked[1] == ([f"{name}-misses" for name in names], 6, here)
    assert {each.workload for each in study.slowdowns} == set(names)


def test_the_page_says_what_its_figures_rest_on():
    """Found by review: notes, failed controls, layout bias and the doubts of an arm were nowhere."""
    one = measured()
    failed = FailedControl(
        variant="custom",
        allocator="glibc",
        level="none",
        layout=1,
        littered=True,
        same_output=False,
        same_exit=True,
        problem="it printed something else",
    )
    arms = [
        msgspec.structs.replace(one.result.arms[0], problem=f"only 1 round was run {HOSTILE}"),
        *one.result.arms[1:],
    ]
    result = msgspec.structs.replace(
        one.result, arms=arms, failed_controls=[failed], notes=["54 % of it is not imitated"]
    )
    page = reporter.page(study_of(msgspec.structs.replace(one, result=result)))
    for words in ("only 1 round was run", "it printed something else", "54 % of it is not imitated"):
        assert words in page.replace("\u00a0", " ")
    assert "What must make no difference" in page
    assert "0.990 to 1.020" in page  # other layouts
    assert HOSTILE not in page


def test_a_full_study_names_what_stayed_wide():
    wide = msgspec.structs.replace(measured(), wide=["naive over glibc at adv3 to custom: 7.1 %"])
    study = study_of(wide)
    full = msgspec.structs.replace(study, plan=msgspec.structs.replace(study.plan, mode="full"))
    page = reporter.page(full).replace("\u00a0", " ")
    assert "stayed wider than 5 %" in page
    assert "naive over glibc at adv3 to custom: 7.1 % wide" in page
    assert "wider than" not in reporter.page(study)


def test_the_questions_are_answered_in_words():
    found = answers(judge(copies([naive_to_custom(1.01)]), []))
    assert [each.question for each in found] == ["RQ1", "RQ2", "RQ3"]
    first = " ".join(found[0].words)
    assert "The paper: no." in first
    assert "holds here. 3 programs, mean 1.01" in first
    assert "nothing was measured" in " ".join(found[2].words)


def test_what_is_drawn_can_be_had_as_csv(tmp_path):
    slow = slowed("naive", 1.8)
    occupied = naive_to_custom(1.3, name="occupied")
    reporter.write(study_of(slow, naive_to_custom(1.3), occupancy=[occupied]), tmp_path)
    with (tmp_path / "figures.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["part"] for line in lines} == {"workloads", "occupancy", "sizes", "artefact", "conclusions"}
    found = {(line["workload"], line["variant"], line["level"], line["figure"]): line for line in lines}
    slowdown = found["chart-parser", "naive", "adv3", "cpu slowdown"]
    assert [float(slowdown[each]) for each in ("value", "low", "high")] == pytest.approx([1.8, 1.795, 1.805])
    assert float(found["balls", "naive", "adv0", "cpu to_custom"]["value"]) == pytest.approx(1.3)
    memory = found["balls", "naive", "adv0", "peak_resident"]
    assert (memory["unit"], float(memory["value"]) > 0) == ("bytes", True)
    every = [line for line in lines if line["part"] == "conclusions"]
    judged = judge([slow, naive_to_custom(1.3)], [occupied])
    assert len(every) == sum(len(each.findings) for each in judged)
    assert any(line["figure"].endswith(": for") for line in every)


def test_how_a_study_is_made_again_is_right_for_a_part_of_it():
    study = study_of(measured())
    part = msgspec.structs.replace(study.plan, workloads=["gawk", "php"], named=True)
    page = reporter.page(msgspec.structs.replace(study, plan=part))
    assert "<code>reap study ismm2026 --quick --workloads gawk,php</code>" in page


def test_bars_are_as_long_as_their_ratios():
    drawn = draw("t & u", [("a", [Bar("x", around(1.0, 0.1), 0), Bar("y", around(2.0, 0.1), 1)])])
    widths = []
    for path in re.findall(r'<path d="([^"]+)" clip-path="[^"]+" style="fill: #', drawn):
        places = [float(x) for x in re.findall(r"[ML] ([\d.]+) ", path)]
        widths.append(max(places) - min(places))
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert "t &amp; u" in drawn
    assert "not measured" in draw("t", [("a", [Bar("x", None, 0)])])


def test_every_workload_of_the_study_has_a_card():
    for name in ismm2026.WORKLOADS:
        described = card.load(name)
        assert described.kind in ("per-class", "size-class", "region", "hybrid"), name
        assert described.frees, name
        assert "custom" in described.variants, name
    assert set(ismm2026.OCCUPANCY) <= set(ismm2026.WORKLOADS)


def test_what_cannot_run_is_left_out_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring.packages, "lacking", lambda _names: ["tshark"])
    plan = ismm2026.plan("quick", ["tshark"], ["glibc"])
    study = ismm2026.run(tmp_path, plan, [Allocator(name="glibc")], Listener())
    (one,) = study.measured
    assert one.result is None
    assert "tshark is not installed here (reap workloads prepare --yes tshark)" in one.excluded
    assert {each.standing for each in study.conclusions} == {"inconclusive"}


@pytest.mark.timed
@pytest.mark.slow
def test_a_small_study_runs_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(pacing, "QUICK_SECONDS", 0)  # five rounds with least to do, however long they take
    monkeypatch.setitem(measuring.RUN, "quick", 0.02)
    plan = ismm2026.plan("quick", ["expression-compiler"], ["glibc"])
    place = tmp_path / "study"
    begin(place, plan)
    study = ismm2026.run(place, plan, [Allocator(name="glibc")], Listener())
    (one,) = study.measured
    assert one.excluded == ""
    assert one.result is not None
    assert one.result.variants == ["custom", "naive"]
    assert [level.name for level in one.result.levels] == ["adv0", "adv3"]
    assert one.result.controls == []
    runs, _ = read_runs(place / "expression-compiler" / "runs.jsonl")
    assert {run.cell.variant for run in runs} == {"custom", "naive"}
    assert json.loads((place / "plan.json").read_text())["mode"] == "quick"
    again = ismm2026.run(place, plan, [Allocator(name="glibc")], Listener())
    assert [each.excluded for each in again.measured] == [""]
    assert read_runs(place / "expression-compiler" / "runs.jsonl")[0] == runs
    assert again.measured == study.measured
    assert "Figure 6" in reporter.page(again)
