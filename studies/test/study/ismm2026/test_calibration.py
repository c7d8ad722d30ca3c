"""Stand-ins that depart from the artefact's data are no evidence; controls that fail are said first."""

import msgspec
import pytest
from samples import exactly_paired, ratio_of
from studies.test.study.copies import copies
from studies.test.study.ismm2026.test_ismm2026 import (
    MODERN,
    measured,
    naive_to_custom,
    named,
    study_of,
)

from reap_studies.study.ismm2026 import artefact, calibration
from reap_studies.study.ismm2026.judge import judge
from reap_studies.study.judging import controls
from reap_studies.study.view import first
from reap_studies.workloads import card


def stand_in(name, clean):
    """The card, slowed as the program of the artefact is, with this ratio of naive to custom."""
    slowed = {
        (each.allocator, each.figure.split()[0]): exactly_paired(each.artefact.value)
        for each in artefact.compared([])
        if each.workload == name and each.figure != artefact.NAIVE_TO_CUSTOM
    }
    arms = {(variant, over, "adv3"): {"slowdown": {"cpu": it}} for (over, variant), it in slowed.items()}
    arms |= {("naive", each, "adv0"): {"to_custom": {"cpu": exactly_paired(clean)}} for each in MODERN}
    return msgspec.structs.replace(measured(arms=arms), card=card.load(name))


def test_a_stand_in_that_departs_from_the_artefact_is_no_evidence():
    """Found by review: mesh-sculptor is faster without its allocator, sculpt takes twice as long."""
    theirs = {
        (each.program, each.allocator, each.figure): each.artefact.value for each in artefact.compared([])
    }
    assert theirs["sculpt", "mimalloc", artefact.NAIVE_TO_CUSTOM] == pytest.approx(1.9, abs=0.01)
    departures = calibration.departures([stand_in("mesh-sculptor", 0.75), stand_in("bouncing-balls", 1.04)])
    assert list(departures) == ["mesh-sculptor"]
    assert departures["mesh-sculptor"].startswith("sculpt, naive to custom, clean heap, glibc: 0.75 here")
    (near,) = [each for each in judge([stand_in("mesh-sculptor", 0.75)], []) if each.id == "near-regions"]
    assert all(each.excluded == ["toy", "stand-in"] for each in near.findings)


def test_a_program_of_the_paper_stays_however_far_it_is():
    assert calibration.departures([naive_to_custom(3.0, name="mudlle", kind="region")]) == {}


def test_our_microbenchmark_is_not_the_paper_s():
    """Found by review: it takes 3 to 7 times as long by malloc, that of the artefact up to twice.

    It was left out for that, by the ratio that is judged. Now it is left out as a toy, whatever it gives.
    """
    for ratio in (1.1, 5.0):
        ours = stand_in("freelist", ratio)
        assert calibration.departures([ours]) == {}
        (found,) = [each for each in judge([ours], []) if each.id == "microbenchmark"]
        assert found.standing == "inconclusive"
        assert {tuple(each.excluded) for each in found.findings} == {("toy",)}


@pytest.mark.parametrize(("ratio", "standing"), [(1.2, "holds"), (2.0, "does not hold")])
def test_the_microbenchmark_that_the_user_brings_is_judged(ratio, standing):
    (found,) = [
        each for each in judge([stand_in("artefact-freelist", ratio)], []) if each.id == "microbenchmark"
    ]
    assert found.standing == standing
    assert {tuple(each.excluded) for each in found.findings} == {()}


def test_a_control_that_is_not_null_is_said_before_anything_else():
    """Found by review: sqlite-lookaside was left out as making no difference; it makes one of 10 %."""
    control = named("sqlite-lookaside", 1.1, control=True)
    (said,) = controls.failures([control, *copies([naive_to_custom(1.3)])])
    assert said.startswith(
        "Naive to custom of a program chosen as a control ought to be 1, and is not: sqlite-"
    )
    assert controls.failures([named("sqlite-lookaside", 1.001, control=True)]) == []
    study = msgspec.structs.replace(study_of(control), controls=[said])
    assert first(study, "")[0] == f"A control failed. {said}"


def test_an_experiment_s_own_controls_are_looked_at():
    """Found here: heaps littered and emptied made four programs up to 36 % faster, and no page said so."""
    one = measured()
    assert controls.failures([one]) == []
    emptied = ratio_of("cpu", 0.8)
    off = [msgspec.structs.replace(each, emptied=emptied) for each in one.result.controls[:1]]
    result = msgspec.structs.replace(one.result, controls=off)
    (said,) = controls.failures([msgspec.structs.replace(one, result=result)])
    assert said.startswith("A heap littered and emptied ought to be 1, and is not: chart-parser (")
