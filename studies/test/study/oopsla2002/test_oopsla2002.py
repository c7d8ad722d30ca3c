"""The OOPSLA 2002 study: conclusions follow from figures, the page shows all of it, a study goes on."""

import io

import msgspec
import pytest
from fragmented_samples import arm_of, fragmented_of
from rich.console import Console
from samples import HOSTILE, machine, ratio_of, recorded
from studies.test.study.copies import copies

from reap.allocators.records import Allocator
from reap.experiment.runner import Listener
from reap_studies.study import figures, measuring, pacing
from reap_studies.study import page as reporter
from reap_studies.study.folder import begin
from reap_studies.study.oopsla2002 import memory as takes_memory
from reap_studies.study.oopsla2002 import run, statistics
from reap_studies.study.oopsla2002.drag import run as dragging
from reap_studies.study.oopsla2002.judge import judge
from reap_studies.study.records import Mark, Measured, Memory, Plan, Study
from reap_studies.workloads import card

ALLOCATORS = ("glibc", "dlmalloc", "win32-like", "reap", "mimalloc")


def measured(name="chart-parser", kind="region", variants=("custom", "naive"), **arms):
    """One workload; `arms` by variant_allocator, each a dictionary of its fields."""
    result = fragmented_of(variants, ALLOCATORS, ("adv0",))
    made = [
        arm_of(arm.variant, arm.allocator, arm.level, **arms.get(f"{arm.variant}_{arm.allocator}", {}))
        for arm in result.arms
    ]
    described = msgspec.structs.replace(card.load("chart-parser"), name=name, kind=kind, partial="")
    return Measured(card=described, version="1", scale=5, result=msgspec.structs.replace(result, arms=made))


def asking(name="chart-parser", excluded="", **marks):
    made = [Mark(variant=arm.split("_")[0], allocator=arm.split("_")[1], asked=marks[arm]) for arm in marks]
    return Memory(card=card.load(name), scale=1, marks=made, excluded=excluded)


def standing(words, measured=(), statistics=(), memory=()):
    every = (copies(each) for each in (measured, statistics, memory))
    (found,) = [one for one in judge(*every) if words in one.claim]
    return found.standing


def of(field, value, metric="cpu"):
    return {field: {metric: ratio_of(metric, value, 0.005), "cpu": ratio_of("cpu", value, 0.005)}}


def test_time_in_malloc_is_held_to_what_ordinary_programs_spent():
    assert standing("spend much time", statistics=[recorded("chart-parser", 0.2)]) == "holds"
    assert standing("spend much time", statistics=[recorded("chart-parser", 0.01)]) == "does not hold"
    assert standing("spend much time", statistics=[recorded("perl", 0.2)]) == "inconclusive"
    assert standing("Ordinary programs", statistics=[recorded("perl", 0.01)]) == "holds"
    assert standing("Ordinary programs", statistics=[recorded("perl", 0.2)]) == "does not hold"
    assert standing("Ordinary programs", statistics=[recorded("chart-parser", 0.2)]) == "inconclusive"
    both = [recorded("perl", 0.01), recorded("lua", 0.2)]
    assert standing("Ordinary programs", statistics=both) == "holds"  # said of most
    most = [*both, recorded("sed", 0.2)]
    assert standing("Ordinary programs", statistics=most) == "holds partly"
    silent = msgspec.structs.replace(recorded("perl", 0.01), share=None)
    assert standing("Ordinary programs", statistics=[silent]) == "inconclusive"


@pytest.mark.parametrize(
    ("words", "arm", "field", "good", "bad"),
    [
        ("the system's own", "naive_glibc", "to_custom", 1.5, 1.02),
        ("comes near", "reap_glibc", "normalised", 1.0, 1.2),
        ("like that of Windows XP", "naive_win32-like", "to_custom", 1.5, 1.02),
        ("Reaps serve", "naive_reap", "normalised", 1.4, 1.9),
    ],
)
def test_a_conclusion_stands_as_its_arms_do(words, arm, field, good, bad):
    variants = ("custom", "reap", "naive")
    assert standing(words, [measured(variants=variants, **{arm: of(field, good)})]) == "holds"
    refuted = standing(words, [measured(variants=variants, **{arm: of(field, bad)})])
    assert refuted in ("does not hold", "outdated")


def best(kind, value, custom=1.0):
    """Naive takes `value` over its best allocator, and custom over its own best."""
    slow, fast = of("normalised", 3.0), of("normalised", value)
    arms = {f"naive_{name}": fast if name == "mimalloc" else slow for name in ALLOCATORS}
    return measured(kind=kind, **arms, custom_reap=of("normalised", custom))


def test_the_best_is_held_to_the_best():
    assert standing("takes the place", [best("per-class", 1.01)]) == "holds"
    assert standing("takes the place", [best("hybrid", 1.3)]) == "does not hold"
    assert standing("takes the place", [best("region", 1.01, custom=0.8)]) == "does not hold"
    assert standing("Some regions", [best("region", 1.3)]) == "holds"
    assert standing("Some regions", [best("region", 1.01)]) == "outdated"
    assert standing("Some regions", [best("per-class", 1.3)]) == "inconclusive"


def test_memory_is_held_by_itself():
    assert standing("save memory", [measured(naive_glibc=memory(1.0))]) == "holds"
    assert standing("save memory", [measured(naive_glibc=memory(1.5))]) == "does not hold"


def test_what_was_asked_for_is_held_to_the_program_as_it_is_over_glibc():
    assert standing("save memory", memory=[asking(custom_glibc=100, naive_glibc=104)]) == "holds"
    assert standing("save memory", memory=[asking(custom_glibc=100, naive_glibc=106)]) == "does not hold"
    assert standing("save memory", memory=[asking(custom_glibc=100, naive_reap=106)]) == "inconclusive"
    assert standing("save memory", memory=[asking(naive_glibc=106)]) == "inconclusive"
    both = standing(
        "save memory", [measured(naive_glibc=memory(1.0))], (), [asking(custom_glibc=1, naive_glibc=2)]
    )
    assert both == "inconclusive", "the two figures of a program say the opposite"


def memory(value):
    ratios = {"cpu": ratio_of("cpu", 1.0), "peak_resident": ratio_of("peak_resident", value, 0.005)}
    return {"to_custom": ratios, "normalised": ratios, "slowdown": ratios}


def study_of(workloads, taken, asked=()):
    return Study(
        plan=Plan(study="oopsla2002", mode="quick", workloads=[], allocators=list(ALLOCATORS)),
        reap_version="1",
        created="2026-01-01T00:00:00+00:00",
        machine=machine(),
        measured=workloads,
        conclusions=judge(workloads, taken, asked),
        statistics=taken,
        memory=list(asked),
    )


def test_the_page_shows_all_of_it(tmp_path):
    ours = measured(variants=("custom", "reap", "naive"), custom_glibc=memory(1.0))
    absent = Measured(card=card.load("fpga-placer"), version="", scale=1, excluded=f"no room {HOSTILE}")
    taken = [recorded("chart-parser", 0.2), recorded("fpga-placer", 0.2), recorded("perl", 0.04)]
    asked = [asking(custom_glibc=7 << 20, naive_glibc=21 << 20), asking("fpga-placer", "not prepared")]
    study = study_of([ours, absent], taken, asked)
    page = reporter.page(study)
    assert "<td>7.00 MiB</td>" in page
    assert ">naive glibc asked</text>" in page
    assert ">3.00</text>" in page
    assert "No high-water mark" not in page
    for each in study.conclusions:
        assert each.claim.replace("'", "&#39;") in page
    for number in (1, 2, 3):
        assert f"Table {number}." in page
    for words in ("Figure 1(a).", "Figure 1(b).", "Figure 5(a).", "Figure 5(b)."):
        assert words in page
    assert "Nothing was measured for it" not in page
    assert page.count("<script") == 2, "those of the theme"
    assert HOSTILE not in page
    reporter.write(study, tmp_path)
    lines = (tmp_path / "figures.csv").read_text().splitlines()
    assert sum(line.startswith("statistics,perl,ordinary,default,glibc") for line in lines) == 7
    assert (
        "statistics,perl,ordinary,default,glibc,,1,share of CPU time in the allocator,1,0.04,"
        in "\n".join(lines)
    )
    assert msgspec.json.decode((tmp_path / "study.json").read_bytes(), type=Study) == study
    out = io.StringIO()
    reporter.render(Console(file=out, width=100), study)
    assert "not measured: fpga-placer" in out.getvalue()


def test_a_workload_with_too_few_rounds_is_named():
    one = measured()
    assert one.result is not None
    unsound = [msgspec.structs.replace(arm, problem="only 1 round was run") for arm in one.result.arms]
    starved = msgspec.structs.replace(one, result=msgspec.structs.replace(one.result, arms=unsound))
    study = study_of([starved], [])
    assert "Nothing is said of chart-parser: too few rounds" in reporter.page(study)
    out = io.StringIO()
    reporter.render(Console(file=out, width=100), study)
    assert "too few rounds in the time given: chart-parser" in out.getvalue()
    assert "too few rounds" not in reporter.page(study_of([one], []))


def test_who_has_no_high_water_mark_is_told_why():
    study = study_of([measured()], [], [asking(excluded="strace is <not> there")])
    page = reporter.page(study)
    assert "No high-water mark, or not all, of chart-parser: strace is &lt;not&gt; there." in page
    assert "most asked of the system" not in figures.table(study)
    seen = study_of([measured()], [], [asking(custom_glibc=12345)])
    assert ",adv0,1,most asked of the system,bytes,12345," in figures.table(seen)


def test_every_workload_of_the_study_is_in_the_taxonomy():
    for name in run.CUSTOM:
        described = card.load(name)
        assert described.motives, name
        assert described.frees, name
        assert measuring.without_own(described) == "naive", name
    for name in run.ORDINARY:
        assert card.load(name).kind == "ordinary", name
        assert measuring.without_own(card.load(name)) == "default", name


@pytest.mark.timed
@pytest.mark.slow
def test_a_small_study_runs_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(pacing, "QUICK_SECONDS", 0)  # five rounds with least to do, however long they take
    monkeypatch.setitem(measuring.RUN, "quick", 0.02)
    monkeypatch.setitem(dragging.SECONDS, "quick", 0.02)
    plan = run.plan("quick", ["expression-compiler", "sed"], ["glibc"])
    place = tmp_path / "study"
    begin(place, plan)
    study = run.run(place, plan, [Allocator(name="glibc")], Listener())
    (one,) = study.measured
    assert one.excluded == ""
    assert one.result is not None
    assert [level.name for level in one.result.levels] == ["adv0"]
    assert {arm.variant for arm in one.result.arms} == {"custom", "naive"}
    custom, ordinary = study.statistics
    assert custom.totals is not None
    assert custom.totals.total_objects > 20_000
    assert (ordinary.card.name, ordinary.excluded) == ("sed", "")
    (asked,) = study.memory
    assert (asked.card.name, asked.excluded) == ("expression-compiler", "")
    assert [(each.variant, each.allocator) for each in asked.marks] == [
        ("custom", "glibc"),
        ("naive", "glibc"),
    ]
    assert all(each.asked > 100_000 for each in asked.marks)
    drags = {each.card.name: each for each in study.drag}
    assert {each.excluded for each in study.drag} == {""}
    assert drags["expression-compiler"].chunks is not None
    assert drags["sed"].objects is not None
    monkeypatch.setattr(dragging, "_taken", None)
    monkeypatch.setattr(statistics, "_recorded", None)  # what was recorded is not recorded again
    monkeypatch.setattr(takes_memory, "_asked", None)
    again = run.run(place, plan, [Allocator(name="glibc")], Listener())
    assert (again.measured, again.statistics) == (study.measured, study.statistics)
    assert (again.memory, again.drag) == (study.memory, study.drag)
