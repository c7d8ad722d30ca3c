"""No nanosecond of another machine raises a suspicion: it compares with what a block costs on this one."""

import msgspec
import pytest
from lab.test.evidence.measuring import measured
from samples import MIB, share_of
from walls import counted, wall_of

from reap.evidence.analyse.suspicions.facts import WallFacts
from reap.evidence.analyse.suspicions.suspect import suspect
from reap.evidence.records import Faults, Resident, Wall
from reap.launch.host import calibration
from reap.launch.host.calibration import Calibrated
from reap.launch.records import Calibration

changed = msgspec.structs.replace
SLOW = Calibration(fast_pair=18e-9, usual_pair=21e-9, past_pair=60e-9, page_fault=3e-6, measured=True)
FAST = Calibration(fast_pair=2e-9, usual_pair=4e-9, past_pair=10e-9, page_fault=2e-7, measured=True)
BUSY = wall_of(0.6, counted=counted(50_000_000))
"""24 ns a block."""
QUICK = wall_of(0.3, counted=counted(60_000_000))
"""10 ns a block."""


def test_the_knee_is_that_of_the_machine():
    def cause(wall: Wall) -> str:
        return suspect(wall)[0].cause

    assert cause(BUSY) == "tcache overflow"
    assert cause(changed(BUSY, calibration=SLOW)) == "many allocations"
    assert cause(QUICK) == "many allocations"
    assert cause(changed(QUICK, calibration=FAST)) == "tcache overflow"


def test_the_knee_is_between_its_sides_and_never_a_small_step():
    assert WallFacts(BUSY).knee_pair == pytest.approx(19.08e-9, rel=1e-3)
    assert WallFacts(changed(BUSY, calibration=SLOW)).knee_pair == pytest.approx((21 * 60) ** 0.5 * 1e-9)
    flat = changed(SLOW, past_pair=22e-9)
    assert WallFacts(changed(BUSY, calibration=flat)).knee_pair == pytest.approx(21e-9 * (28 / 13) ** 0.5)


def test_what_the_fast_path_costs_is_said_with_where_it_is_from():
    def said(wall: Wall) -> str:
        return " ".join(each.statement for each in suspect(wall)[0].statements)

    assert "On the fast path it is 7 to 13 ns (by default, not measured on this machine);" in said(BUSY)
    assert "On the fast path it is 2 to 4 ns (on this machine);" in said(changed(BUSY, calibration=FAST))


def test_blocks_that_are_fresh_cost_what_they_cost_here():
    kept = changed(counted(50_000_000), peak_bytes=64e6)
    costs = {
        made.past_pair: WallFacts(changed(BUSY, counted=kept, calibration=made)).fresh_cost
        for made in (Calibration(), SLOW)
    }
    assert costs[28e-9] == pytest.approx(1e6 * 50e-9)
    assert costs[60e-9] == pytest.approx(1e6 * 50e-9 * 60 / 28)


def test_page_faults_that_were_not_sampled_cost_what_they_cost_here():
    blind = changed(
        wall_of(0.1),
        user_seconds=0.4,
        system_seconds=1.6,
        share=share_of(0.1, kernel_inside=0, sees_kernel=False),
        faults=Faults(minor=400_000),
        calls=None,
        resident=Resident(peak=3 * MIB, end=3 * MIB),
    )
    parts = [
        WallFacts(changed(blind, calibration=changed(SLOW, page_fault=seconds))).kernel_part
        for seconds in (2e-7, 1e-6, 3e-6, 9e-6)
    ]
    assert parts == pytest.approx([0.04, 0.2, 0.6, 0.8])  # no more than it took in the kernel in all


def test_a_slow_kernel_is_believed():
    """A fault that takes more than the bound of most machines is no waiting for a lock, where each does."""
    wall = wall_of(0.1, kernel=0.6, faults=Faults(minor=1000, samples=100, by_cause={"heap": 100}))
    assert WallFacts(wall).kernel_part == pytest.approx(1000 * 300e-6 / 2)
    slow = changed(wall, calibration=changed(SLOW, page_fault=5e-6))
    assert WallFacts(slow).kernel_part == pytest.approx(0.6)


def test_a_file_of_an_older_reap_has_the_defaults():
    content = msgspec.json.decode(msgspec.json.encode(changed(BUSY, calibration=SLOW)))
    assert msgspec.convert(content, Wall).calibration == SLOW
    del content["calibration"]
    older = msgspec.convert(content, Wall)
    assert older.calibration == Calibration()
    assert suspect(older) == suspect(BUSY)


@pytest.mark.parametrize("field", ["fast_pair", "usual_pair", "past_pair", "page_fault"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 1.0])
def test_what_cannot_be_is_not_compared_with(field, value):
    assert suspect(changed(BUSY, calibration=changed(SLOW, **{field: value}))) == suspect(BUSY)


def test_a_measured_program_has_the_figures_of_its_machine(tmp_path, monkeypatch):
    note = "what a block costs on this machine was not kept"
    monkeypatch.setattr(calibration, "here", lambda _: Calibrated(costs=SLOW, note=note))
    wall = measured(tmp_path, "true").wall
    assert wall.calibration == SLOW
    assert note in wall.notes
