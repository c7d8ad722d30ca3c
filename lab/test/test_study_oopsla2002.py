"""The OOPSLA 2002 study: conclusions follow from figures, the page shows all of it, a study goes on."""

import io

import msgspec
import pytest
from rich.console import Console
from samples import HOSTILE, arm_of, fragmented_of, machine, profile_of, ratio_of, share_of

from reap.allocators.records import Allocator
from reap.experiment import card
from reap.experiment.runner import Listener
from reap.report import study as reporter
from reap.study import measuring, oopsla2002, pacing, statistics
from reap.study.folder import begin
from reap.study.oopsla2002_claims import judge
from reap.study.records import Measured, Plan, Statistics, Study

ALLOCATORS = ("glibc", "reap", "mimalloc")


def measured(name="chart-parser", kind="region", variants=("custom", "naive"), **arms):
    """One workload; `arms` by variant_allocator, each a dictionary of its fields."""
    result = fragmented_of(variants, ALLOCATORS, ("adv0",))
    made = [
        arm_of(arm.variant, arm.allocator, arm.level, **arms.get(f"{arm.variant}_{arm.allocator}", {}))
        for arm in result.arms
    ]
    described = msgspec.structs.replace(card.load("chart-parser"), name=name, kind=kind, partial="")
    return Measured(card=described, version="1", scale=5, result=msgspec.structs.replace(result, arms=made))


def recorded(name, share, half=0.005):
    return Statistics(card=card.load(name), scale=1, totals=profile_of().totals, share=share_of(share, half))


def standing(words, measured=(), statistics=()):
    (found,) = [one for one in judge(measured, statistics) if words in one.claim]
    return found.standing


def of(field, value, metric="cpu"):
    return {field: {metric: ratio_of(metric, value, 0.005), "cpu": ratio_of("cpu", value, 0.005)}}


def test_time_in_malloc_is_held_to_what_ordinary_programs_spent():
    assert standing("spend much time", statistics=[recorded("chart-parser", 0.2)]) == "holds"
    assert standing("spend much time", statistics=[recorded("chart-parser", 0.01)]) == "does not hold"
    assert standing("spend much time", statistics=[recorded("perl", 0.2)]) == "cannot tell"
    assert standing("Ordinary programs", statistics=[recorded("perl", 0.01)]) == "holds"
    assert standing("Ordinary programs", statistics=[recorded("perl", 0.2)]) == "does not hold"
    assert standing("Ordinary programs", statistics=[recorded("chart-parser", 0.2)]) == "cannot tell"
    both = [recorded("perl", 0.01), recorded("lua", 0.2)]
    assert standing("Ordinary programs", statistics=both) == "holds partly"
    silent = msgspec.structs.replace(recorded("perl", 0.01), share=None)
    assert standing("Ordinary programs", statistics=[silent]) == "cannot tell"


@pytest.mark.parametrize(
    ("words", "arm", "field", "good", "bad"),
    [
        ("the system's own", "naive_glibc", "to_custom", 1.5, 1.02),
        ("come", "reap_glibc", "normalised", 1.0, 1.2),
        ("general-purpose allocator.", "naive_reap", "to_allocator", 0.9, 1.3),
    ],
)
def test_a_conclusion_stands_as_its_arms_do(words, arm, field, good, bad):
    words = {"come": "comes near"}.get(words, words)
    words = "Reaps serve" if words == "general-purpose allocator." else words
    variants = ("custom", "reap", "naive")
    assert standing(words, [measured(variants=variants, **{arm: of(field, good)})]) == "holds"
    refuted = standing(words, [measured(variants=variants, **{arm: of(field, bad)})])
    assert refuted in ("does not hold", "outdated")


def best(kind, value):
    slow, fast = of("normalised", 3.0), of("normalised", value)
    return measured(kind=kind, naive_glibc=slow, naive_reap=slow, naive_mimalloc=fast)


def test_the_best_allocator_is_held_to_the_program_as_it_is():
    assert standing("takes the place", [best("per-class", 1.01)]) == "holds"
    assert standing("takes the place", [best("hybrid", 1.3)]) == "does not hold"
    assert standing("takes the place", [best("region", 1.3)]) == "cannot tell"
    assert standing("Regions stay faster", [best("region", 1.3)]) == "holds"
    assert standing("Regions stay faster", [best("region", 1.01)]) == "outdated"
    assert standing("Regions stay faster", [best("per-class", 1.3)]) == "cannot tell"


def test_memory_is_held_by_itself():
    assert standing("save memory", [measured(naive_glibc=memory(1.0))]) == "holds"
    assert standing("save memory", [measured(naive_glibc=memory(1.5))]) == "does not hold"


def memory(value):
    ratios = {"cpu": ratio_of("cpu", 1.0), "peak_resident": ratio_of("peak_resident", value, 0.005)}
    return {"to_custom": ratios, "normalised": ratios, "slowdown": ratios}


def study_of(workloads, taken):
    return Study(
        plan=Plan(study="oopsla2002", mode="quick", workloads=[], allocators=list(ALLOCATORS)),
        reap_version="1",
        created="2026-01-01T00:00:00+00:00",
        machine=machine(),
        measured=workloads,
        conclusions=judge(workloads, taken),
        statistics=taken,
    )


def test_the_page_shows_all_of_it(tmp_path):
    ours = measured(variants=("custom", "reap", "naive"), custom_glibc=memory(1.0))
    absent = Measured(card=card.load("fpga-placer"), version="", scale=1, excluded=f"no room {HOSTILE}")
    taken = [recorded("chart-parser", 0.2), recorded("fpga-placer", 0.2), recorded("perl", 0.04)]
    study = study_of([ours, absent], taken)
    page = reporter.page(study)
    for each in study.conclusions:
        assert each.claim.replace("'", "&#39;") in page
    for number in (1, 2, 3):
        assert f"Table {number}." in page
    for words in ("Figure 1(a).", "Figure 1(b).", "Figure 5(a).", "Figure 5(b).", "Figure 6."):
        assert words in page
    assert "Table 4 and Figure 7 are missing" in page
    assert "Nothing was measured for it" not in page
    assert "<script" not in page
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


def test_every_workload_of_the_study_is_in_the_taxonomy():
    for name in oopsla2002.CUSTOM:
        described = card.load(name)
        assert described.motives, name
        assert described.frees, name
        assert measuring.without_own(described) == "naive", name
    for name in oopsla2002.ORDINARY:
        assert card.load(name).kind == "ordinary", name
        assert measuring.without_own(card.load(name)) == "default", name


@pytest.mark.slow
def test_a_small_study_runs_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(pacing, "QUICK_SECONDS", 0.1)
    monkeypatch.setattr(measuring, "QUICK_RUN", 0.02)
    plan = oopsla2002.plan("quick", ["expression-compiler", "sed"], ["glibc"])
    place = tmp_path / "study"
    begin(place, plan)
    study = oopsla2002.run(place, plan, [Allocator(name="glibc")], Listener())
    (one,) = study.measured
    assert one.excluded == ""
    assert one.result is not None
    assert [level.name for level in one.result.levels] == ["adv0"]
    assert {arm.variant for arm in one.result.arms} == {"custom", "naive"}
    custom, ordinary = study.statistics
    assert custom.totals is not None
    assert custom.totals.total_objects > 20_000
    assert (ordinary.card.name, ordinary.excluded) == ("sed", "")
    monkeypatch.setattr(statistics, "_recorded", None)  # what was recorded is not recorded again
    again = oopsla2002.run(place, plan, [Allocator(name="glibc")], Listener())
    assert (again.measured, again.statistics) == (study.measured, study.statistics)
