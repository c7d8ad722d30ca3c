"""OOPSLA 2002, section 4.3 and Figure 6: what lives and what is held, and reaps among their peers."""

import msgspec
import pytest
from building import workload_cache
from fragmented_samples import arm_of, fragmented_of
from samples import machine, ratio_of

from reap.allocators import apt, packages
from reap.base.errors import ReapError
from reap.experiment.runner import Listener
from reap_studies.study import measuring
from reap_studies.study import page as reporter
from reap_studies.study.oopsla2002 import run
from reap_studies.study.oopsla2002.regions import buffers, peers
from reap_studies.study.records import Buffers, Curve, Measured, Peers, Plan, Point, Study
from reap_studies.workloads import card, preparation, provision
from reap_studies.workloads import run as workload

FROM_SOURCE = ("vmalloc",)
"""Peers whose library is built when the workload is prepared."""
PLAN = Plan(study="oopsla2002", mode="quick", workloads=[], allocators=["glibc"])
ROUNDS = 5


def curve(idiom, memory, *held):
    points = [Point(work=10 * step, live=7, held=each) for step, each in enumerate(held, 1)]
    return Curve(idiom=idiom, memory=memory, points=points)


def grown(*curves):
    return Buffers(card=card.load(buffers.WORKLOAD), scale=1, curves=list(curves))


PROGRAM = "region-compiler"


def compared(own=1.0, reap=1.0, left_out=(), name=PROGRAM, **ratios):
    """Figure 6 of these ratios to the program's own region."""
    described = card.load(name)
    ran = {"custom": own, "reap": reap} | {name.replace("_", "-"): each for name, each in ratios.items()}
    ran["naive"] = 2.0
    result = fragmented_of(tuple(ran), ("glibc",), ("adv0",))
    arms = []
    for name, value in ran.items():
        pairs = [value * (1 + 0.001 * (step % 2)) for step in range(ROUNDS)]
        cpu = msgspec.structs.replace(ratio_of("cpu", value, 0.002), pairs=pairs)
        memory = ratio_of("peak_resident", value, 0.002)
        arms.append(arm_of(name, "glibc", "adv0", normalised={"cpu": cpu, "peak_resident": memory}))
    measured = Measured(
        card=described, version="1", scale=1, result=msgspec.structs.replace(result, arms=arms)
    )
    return Peers(measured=measured, left_out=dict.fromkeys(left_out, "it is not installed"))


def twice(compared):
    """Two programs, as the paper has."""
    other = msgspec.structs.replace(compared.measured.card, name="other")
    again = msgspec.structs.replace(compared.measured, card=other)
    return [compared, msgspec.structs.replace(compared, measured=again)]


def standings(conclusions):
    return [each.standing for each in conclusions]


def test_what_a_region_holds_is_to_grow_and_what_others_hold_is_not():
    region, flat = curve("turns", "region", 10, 20, 30, 40), curve("turns", "reap", 10, 10, 11, 11)
    malloc = curve("turns", "malloc", 10, 20, 30, 40)
    assert standings(buffers.judge(grown(region, flat))) == ["holds", "holds"]
    assert standings(buffers.judge(grown(region, flat, malloc))) == ["holds", "holds partly"]
    bounded = curve("turns", "region", 10, 10, 11, 11)
    assert standings(buffers.judge(grown(bounded, malloc))) == ["does not hold", "does not hold"]
    assert standings(buffers.judge(grown())) == standings(buffers.judge(None)) == ["inconclusive"] * 2


def test_reaps_are_held_to_peers_that_free_single_objects_too():
    faster = compared(reap=1.02, talloc=2.0, mimalloc=1.3, apr=0.5, pmr_monotonic=0.5)
    first, second = peers.judge([faster])
    assert (first.standing, second.standing) == ("inconclusive", "inconclusive"), "the paper has two"
    first, second = peers.judge(twice(faster))
    assert (first.standing, second.standing) == ("holds", "holds")
    assert {each.figure for each in first.findings} == {"talloc's contexts", "mimalloc's heaps"}
    slower = compared(reap=1.5, talloc=2.0, mimalloc=1.3)
    assert standings(peers.judge(twice(slower))) == ["inconclusive", "does not hold"], "half of its peers"
    assert standings(peers.judge(twice(compared(reap=1.5, mimalloc=1.3))))[0] == "does not hold"
    assert standings(peers.judge([])) == ["inconclusive", "inconclusive"]
    _, other = twice(compared(reap=1.5, mimalloc=1.9))
    first, second = peers.judge([compared(reap=1.02, mimalloc=1.3), other])
    assert [each.workload for each in first.findings] == [PROGRAM, "other"]
    assert (first.standing, second.standing) == ("holds", "holds"), "half of the programs are most"


def test_a_peer_that_is_not_installed_is_left_out_with_the_reason(monkeypatch):
    monkeypatch.setattr(packages, "lacking", lambda names: [name for name in names if "talloc" in name])
    described = card.load(PROGRAM)
    assert preparation.absent(described)["talloc"] == ["libtalloc2"]
    assert preparation.absent(described).keys() <= {"talloc", *FROM_SOURCE}
    # The program itself can run, and what is lacking is installed when it is prepared.
    assert measuring.lacking(described) == ""
    monkeypatch.setattr(apt, "simulated", lambda _: ([], []))
    assert provision.plan([PROGRAM]).packages == ["libtalloc2"]
    page = reporter.page(study_of([compared(left_out=["talloc"], mimalloc=1.3)], None))
    assert "left out: it is not installed" in page


def test_the_card_s_peers_are_those_that_the_study_tells_apart():
    for name in peers.WORKLOADS:
        described = card.load(name)
        assert set(described.peers) == {
            "apr", "talloc", "mimalloc", "jemalloc", "pmr-monotonic", "pmr-pool", *FROM_SOURCE
        }  # fmt: skip
        assert list(described.variants) == [peers.OWN, peers.REAP, peers.EMULATED]
    assert set(card.load(buffers.WORKLOAD).variants) == set(buffers.MEMORIES)
    with pytest.raises(ReapError, match="no variant 'windows-heap'") as caught:
        preparation.prepare(PROGRAM, "windows-heap")
    assert "pmr-pool" in caught.value.hint


def study_of(held, curves):
    return Study(
        plan=PLAN,
        reap_version="1",
        created="2026-01-01T00:00:00+00:00",
        machine=machine(),
        measured=[],
        conclusions=[*buffers.judge(curves), *peers.judge(held)],
        peers=list(held),
        buffers=curves,
    )


def test_the_page_draws_curves_and_bars_beside_what_was_published():
    every = [curve(idiom, "region", 10, 20) for idiom in ("buffer", "arrays", "turns", "threads")]
    study = study_of(
        [compared(talloc=2.0), compared(reap=1.23, name="lcc")], grown(*every, curve("threads", "reap", 5, 5))
    )
    page = reporter.page(study)
    for words in (
        "Dynamic arrays", "Producer and consumer, two threads", "region: 20 B at the end",
        "reap: 5 B at the end", "in use: 7 B at the end", "talloc&#39;s contexts", "Windows Heaps",
        "Vmalloc", "our Reap in its place", "Lcc (here)", "lcc: CPU time to its own region",
        "region-compiler: CPU time to its own region",
    ):  # fmt: skip
        assert words in page or words.replace("&#39;", "&#x27;") in page
    assert msgspec.json.decode(msgspec.json.encode(study), type=Study) == study


def test_what_was_not_asked_for_is_no_part_of_the_page_and_what_failed_is():
    page = reporter.page(study_of([], None))
    assert "Section 4.3." not in page
    assert "Figure 6 in numbers" not in page
    failed = msgspec.structs.replace(compared().measured, result=None, excluded="no compiler")
    page = reporter.page(study_of([Peers(measured=failed, left_out={})], grown()))
    assert page.count("Nothing was measured for it") >= 3
    assert "no compiler" in page


@pytest.fixture(scope="module")
def cache():
    return workload_cache()


def test_all_peers_that_are_installed_print_the_same(cache):
    described = card.load(PROGRAM)
    tried = workload.try_variants(PROGRAM, scale=described.quick_scale, cache=cache)
    expected = [
        *described.variants,
        *(each for each in described.peers if each not in preparation.absent(described, cache=cache)),
    ]
    assert [each.variant for each in tried] == expected


def test_curves_are_counted_kept_and_not_taken_again(tmp_path, monkeypatch, cache):
    monkeypatch.setattr(preparation, "cache_folder", lambda: cache)
    monkeypatch.setattr(measuring, "scale_of", lambda described, _: described.quick_scale)
    monkeypatch.setattr(measuring, "lacking", lambda _: "")
    place = tmp_path / "curves.json"
    taken = buffers.take(place, "quick")
    assert taken.excluded == ""
    assert {(each.idiom, each.memory) for each in taken.curves} == {
        (idiom, memory)
        for idiom in ("buffer", "arrays", "turns", "threads")
        for memory in ("region", "reap", "malloc")
    }
    for each in taken.curves:
        assert len(each.points) == 64
        assert all(point.live < point.held for point in each.points)
        grown_by = each.points[-1].held / each.points[15].held
        assert grown_by > 2 if each.memory == "region" else each.points[-1].held < 3_000_000
    monkeypatch.setattr(buffers, "_curves", None)
    assert buffers.take(place, "quick") == taken


@pytest.mark.slow
def test_figure_6_is_measured_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setitem(measuring.RUN, "quick", 0.02)
    work = peers.work(tmp_path, PROGRAM, "quick")
    measured = measuring.measure(work, 2, Listener())
    assert measured.excluded == ""
    assert measured.result is not None
    assert measured.result.variants[0] == "custom"
    assert measured.result.variants[-1] == "naive"
    assert all(arm.same_output for arm in measured.result.arms)
    assert measuring.measure(work, 2, Listener()) == measured
    assert peers.of(measured).left_out.keys() == preparation.absent(measured.card).keys()


def test_a_study_has_them_by_name():
    plan = run.plan("quick", [buffers.WORKLOAD, *peers.WORKLOADS], ["glibc"])
    assert plan.workloads == [buffers.WORKLOAD, *peers.WORKLOADS]
    assert set(peers.WORKLOADS) <= set(run.CUSTOM)
    assert buffers.WORKLOAD not in run.CUSTOM
