"""What counts as evidence: programs and not pairs of program and allocator, exclusions, and what flips."""

import msgspec
import pytest
from studies.test.study.copies import foreign

from reap.base.records import Estimate, exactly
from reap_studies.study.judging import bounds, exclusions, programs, sensitivity
from reap_studies.study.judging.exclusions import TABLE, Evidence, Topic
from reap_studies.study.judging.standing import Extent, Question
from reap_studies.study.records import Finding
from reap_studies.workloads import card

MOST = Question(extent=Extent.MOST, refuted="does not hold", unit="program", least=programs.LEAST)


def found(workload, *values, side=None, **said):
    judged = bounds.at_least(1.05)
    return [
        Finding(
            workload=workload,
            figure=f"over {number}",
            ratio=exactly(value),
            side=side or judged(exactly(value)),
            **said,
        )
        for number, value in enumerate(values)
    ]


def test_three_figures_of_one_program_are_no_three_programs():
    """Pseudo-replication: RQ1's interval took pairs of program and allocator for programs."""
    same = [*found("a", 1.1, 1.1, 1.1), *found("b", 1.3, 1.3, 1.3)]
    assert programs.mean(same) is None, "two programs have no interval"
    three = programs.mean([*same, *found("c", 1.2, 1.2, 1.2)])
    assert three == programs.mean([*found("a", 1.1), *found("b", 1.3), *found("c", 1.2)])
    assert MOST.verdict(same) == "inconclusive"
    assert MOST.lacking(same) == "2 programs of the 3 that it takes"


def test_a_program_s_interval_is_no_narrower_for_more_allocators():
    wide = [
        msgspec.structs.replace(each, ratio=Estimate(value=1.2, low=1.0, high=1.4))
        for each in found("a", *[1.2] * 9)
    ]
    (effect,) = programs.effects(wide)
    assert (effect.ratio.low, effect.ratio.high) == (pytest.approx(1.0), pytest.approx(1.4))


@pytest.mark.parametrize(
    ("values", "side"),
    [((1.2, 1.2, 1.0), "for"), ((1.2, 1.0), "inconclusive"), ((1.0, 1.0, 1.2), "against")],
)
def test_a_program_is_for_what_most_of_its_figures_are_for(values, side):
    assert programs.effects(found("a", *values))[0].side == side


def test_a_claim_about_means_is_decided_by_means_over_programs():
    of_mean = Question(
        extent=Extent.NEARLY_ALL,
        refuted="outdated",
        unit="program",
        least=programs.LEAST,
        of_mean=bounds.at_least(1),
    )
    every = [one for name, value in zip("abc", (1.2, 1.3, 1.25), strict=True) for one in found(name, value)]
    assert of_mean.verdict(every) == "holds"
    assert of_mean.verdict(every[:2]) == "inconclusive"


def test_each_exclusion_leaves_out_what_it_says_from_both_sides():
    plain = foreign(card.load("chart-parser"), name="plain")
    changed = {
        "toy": card.load("chart-parser"),
        "control": msgspec.structs.replace(plain, control=True),
        "microbenchmark": msgspec.structs.replace(plain, microbenchmark=True),
        "partial": msgspec.structs.replace(plain, partial="much"),
        "unreached": msgspec.structs.replace(plain, chunks_from="system"),
        "stand-in": msgspec.structs.replace(plain, name="departing"),
    }
    evidence = Evidence(departing=("departing",))
    assert set(changed) == {each.name for each in TABLE}
    littered = Topic(fragmented=True)
    for name, described in changed.items():
        assert exclusions.reasons(described, evidence, littered) == [name]
        assert exclusions.reasons(described, evidence, Topic(about=[name], fragmented=True)) == []
    assert exclusions.reasons(plain, evidence, littered) == []
    assert exclusions.reasons(changed["unreached"], evidence, Topic()) == [], "on a clean heap it counts"
    naive = Topic(fragmented=True, naive=True)
    for name in ("partial", "unreached"):
        assert exclusions.reasons(changed[name], evidence, naive) == [], "its allocator plays no part"
    for value in (0.9, 1.3):
        (marked,) = exclusions.marked(
            found("plain", value), Evidence({"plain": changed["control"]}), littered
        )
        assert marked.excluded == ["control"], "whatever it says"


def test_no_litter_reaches_pymalloc_so_it_refutes_no_protection():
    """Found by review: `regions-resist` left such programs out, `per-class-no-protection` did not."""
    python = card.load("cpython")
    assert python.kind == "size-class", "its pools are of many sizes"
    for topic in (Topic(fragmented=True), Topic(about=["toy"], fragmented=True)):
        assert exclusions.reasons(python, Evidence(), topic) == ["unreached"]


def test_a_verdict_that_one_program_makes_flips_without_it():
    sides = [*found("a", 1.2), *found("b", 1.2), *found("c", 1.0), *found("d", 1.0)]
    assert MOST.verdict(sides) == "holds"
    assert sensitivity.flips(sides, MOST) == {"a": "holds partly", "b": "holds partly"}
    assert sensitivity.flips([*sides, *found("e", 1.3), *found("f", 1.3)], MOST) == {}


def test_toys_are_apart_and_each_exclusion_is_lifted_alone():
    real = [*found("a", 1.2, original=True), *found("b", 1.2), *found("c", 1.2)]
    toys = [one for name in "xyz" for one in found(name, 1.0, excluded=["toy"])]
    both = found("departing toy", 9.0, excluded=["toy", "stand-in"])
    varied = {each.what: each for each in sensitivity.variations([*real, *toys, *both], MOST)}
    assert set(varied) == {"originals alone", "toys alone", "without the exclusion toy"}
    assert varied["toys alone"].standing == "does not hold"
    assert (varied["originals alone"].standing, varied["originals alone"].programs) == ("inconclusive", 1)
    assert varied["without the exclusion toy"].programs == 6, "what departs has another reason"
