"""A quick study has five rounds of everything in its time, whatever the machine; a full one sharp figures."""

import msgspec
import pytest
from fragmented_samples import fragmented_of
from samples import around, ratio_of

from reap.allocators.records import Allocator
from reap.experiment.budget import MOST_ROUNDS, Cost
from reap.experiment.runner import Listener
from reap.experiment.specify import AskedFragment
from reap_studies.study import conduct, measuring, pacing
from reap_studies.study.ismm2026 import run as ismm2026
from reap_studies.study.oopsla2002 import run as oopsla2002
from reap_studies.study.records import Measured
from reap_studies.workloads import card

MINUTES_15 = 900.0
HEAPS = 6
"""Three allocators, on a clean heap and on a littered one."""


class Machine:
    """Runs nothing, and knows what it would have taken.

    A run takes what it takes to start, and as long as the work takes; littered runs and those without the
    program's own allocator take longer than the card's figure, which is of neither.
    """

    def __init__(self, monkeypatch, slowness=1.0, start=0.05, **own):
        self.slowness, self.start, self.own = slowness, start, own
        self.scale, self.rounds, self.seconds = {}, {}, 0.0
        for name in ("begin", "begun", "cost", "spent", "measure"):
            monkeypatch.setattr(measuring, name, getattr(self, name))
        monkeypatch.setattr(measuring, "lacking", lambda _described: "")

    def a_round(self, work):
        described = work.described
        done = self.scale[work.place] / described.default_scale
        run = described.expected_seconds * self.own.get(described.name, 1.3) * done
        return (self.start + run) * self.slowness * (len(described.variants) * HEAPS + 1)

    def begin(self, work, scale):
        self.scale[work.place] = scale
        self.rounds[work.place] = 0

    def begun(self, work):
        return work.place in self.scale

    def cost(self, work, _listener):
        if not self.rounds[work.place]:
            self.seconds += self.a_round(work)
        return Cost(a_round=self.a_round(work), later=self.a_round(work))

    def spent(self, work, rounds):
        if not self.begun(work):
            return 0.0
        done = min(rounds, self.rounds[work.place])
        return self.a_round(work) * (done + (2 if self.rounds[work.place] else 1))

    def measure(self, work, rounds, _listener):
        more = max(0, rounds - self.rounds[work.place])
        sampled = 0 if self.rounds[work.place] else 1
        self.seconds += self.a_round(work) * (more + sampled)
        self.rounds[work.place] += more
        return Measured(card=work.described, version="", scale=self.scale[work.place], result=result())


def result(rounds=5):
    return msgspec.structs.replace(
        fragmented_of(("custom", "naive"), ("glibc",), ("adv0", "adv3")), rounds=rounds
    )


def works(tmp_path, names, mode="quick"):
    heaps, glibc = AskedFragment(levels=[], clean=True), [Allocator(name="glibc")]
    return [measuring.Work(tmp_path / name, card.load(name), mode, glibc, heaps) for name in names]


@pytest.mark.parametrize("names", [ismm2026.WORKLOADS, oopsla2002.CUSTOM], ids=["ismm2026", "oopsla2002"])
@pytest.mark.parametrize("slowness", [0.3, 1.0, 1.5])
def test_five_rounds_of_every_workload_fit_into_a_quick_study(names, slowness, tmp_path, monkeypatch):
    """On machines that the cards do not know, with a program that takes five times as long as it says."""
    machine = Machine(monkeypatch, slowness, protobuf=5.0, tshark=4.0, clang=0.8)
    measured = pacing.measure(works(tmp_path, names), "quick", Listener())
    assert [one.excluded for one in measured] == [""] * len(names)
    assert min(machine.rounds.values()) >= 5
    assert machine.seconds < MINUTES_15 - 120


def test_what_is_used_up_before_is_not_there_for_experiments(tmp_path, monkeypatch):
    machine = Machine(monkeypatch, protobuf=5.0, tshark=4.0)
    measured = pacing.measure(works(tmp_path, oopsla2002.CUSTOM), "quick", Listener(), gone=150.0)
    assert [one.excluded for one in measured] == [""] * len(oopsla2002.CUSTOM)
    assert machine.seconds < MINUTES_15 - 120 - 150


def test_what_cheap_workloads_leave_gives_rounds_to_all(tmp_path, monkeypatch):
    machine = Machine(monkeypatch, 0.2)
    pacing.measure(works(tmp_path, ismm2026.WORKLOADS), "quick", Listener())
    assert len(set(machine.rounds.values())) == 1
    assert min(machine.rounds.values()) > 5
    assert 0.85 * pacing.QUICK_SECONDS < machine.seconds < 1.1 * pacing.QUICK_SECONDS


def test_one_that_takes_too_long_begins_again_with_less(tmp_path, monkeypatch):
    names = ["chart-parser", "gawk", "lua", "nim", "php", "rapidjson"]
    Machine(monkeypatch)
    first, *_ = pacing.measure(works(tmp_path, names), "quick", Listener())
    machine = Machine(monkeypatch, **{"chart-parser": 60.0})
    less, *others = pacing.measure(works(tmp_path, names), "quick", Listener())
    assert less.scale < first.scale / 2
    for one in others:  # for which there is time enough
        assert one.scale >= 0.6 * measuring.scale_of(one.card, "quick") or one.scale == one.card.quick_scale
    assert machine.rounds[tmp_path / "chart-parser"] >= 5


def test_what_a_slow_machine_has_no_time_for_is_named(tmp_path, monkeypatch):
    machine = Machine(monkeypatch, 1.0, start=20.0)
    measured = pacing.measure(works(tmp_path, ismm2026.WORKLOADS), "quick", Listener())
    done = [one for one in measured if not one.excluded]
    assert 1 <= len(done) < len(measured)
    assert {one.excluded for one in measured if one not in done} == {
        "the time of a quick study was used up before it"
    }
    assert set(machine.rounds.values()) == {5}


def with_width(width, rounds):
    """A result of which one interval is so wide."""
    one = result(rounds=rounds)
    arms = [
        msgspec.structs.replace(
            arm, **{field: {"cpu": narrow()} for field in ("normalised", "slowdown", "to_custom")}
        )
        for arm in one.arms
    ]
    ratio = msgspec.structs.replace(narrow(), ratio=around(2.0, width))
    arms[-1] = msgspec.structs.replace(arms[-1], slowdown={"cpu": ratio})
    return msgspec.structs.replace(one, arms=arms)


def narrow():
    return ratio_of("cpu", 1.0, 0.02)


def full(tmp_path, monkeypatch, width, most=MOST_ROUNDS):
    asked = []

    def measure(work, rounds, _listener):
        asked.append(rounds)
        return Measured(card=work.described, version="", scale=1, result=with_width(width(rounds), rounds))

    monkeypatch.setattr(measuring, "measure", measure)
    (one,) = pacing.measure(works(tmp_path, ["gawk"], "full"), "full", Listener(), most=most)
    return asked, one


def test_a_full_study_goes_on_until_its_intervals_are_narrow(tmp_path, monkeypatch):
    asked, one = full(tmp_path, monkeypatch, lambda rounds: 0.8 / rounds)
    assert asked == [6, 12, 18]
    assert one.wide == []


def test_a_full_study_ends_and_names_what_stayed_wide(tmp_path, monkeypatch):
    asked, one = full(tmp_path, monkeypatch, lambda _rounds: 0.07)
    assert asked == [6, 12, 18, 24, MOST_ROUNDS]
    assert one.wide == ["naive over glibc at adv3 to its adv0: 7.0 %"]


def test_rounds_may_be_asked_for_within_those_of_a_full_study():
    assert (measuring.ROUNDS["full"], MOST_ROUNDS) == conduct.FULL_ROUNDS


@pytest.mark.parametrize(("most", "rounds"), [(6, [6]), (14, [6, 12, 14])])
def test_a_full_study_has_at_most_the_rounds_that_were_asked_for(most, rounds, tmp_path, monkeypatch):
    asked, one = full(tmp_path, monkeypatch, lambda _rounds: 0.07, most)
    assert asked == rounds
    assert len(one.wide) == 1


def test_an_interval_is_as_wide_as_from_its_one_end_to_the_other():
    assert pacing.wide(with_width(0.049, 10)) == []
    assert len(pacing.wide(with_width(0.051, 10))) == 1
    unsound = with_width(0.5, 10)
    arms = [*unsound.arms[:-1], msgspec.structs.replace(unsound.arms[-1], problem="crashed")]
    assert pacing.wide(msgspec.structs.replace(unsound, arms=arms)) == []
