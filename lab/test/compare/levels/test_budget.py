"""Programs on fragmented heaps: what a time budget leaves out, and how to resume after an error."""

import msgspec
import pytest
from lab.test.compare.levels.experiments import PROFILE, fragmented, runs_of, spec_of

from reap.base.errors import ExitCode, ReapError
from reap.compare.levels import run as levels_run
from reap.experiment import once, runner, sequential
from reap.experiment.folder import Folder
from reap.experiment.records import BARE, Laid
from reap.experiment.runner import Listener
from reap.experiment.spec import COUNTERS
from reap.experiment.starter import Started, Starter
from reap.launch.litter import run as littering
from reap.launch.records import Outcome
from reap.launch.tools import counters


class Clockwork(Starter):
    """Every run takes a tenth of a second on `clock`, and one in simulated caches fifty times that."""

    clock = 0.0

    def start(self, cell, *, probe):
        type(self).clock += 5.0 if cell.simulated else 0.1
        heap = {"x": {"malloc": "/lib/libc.so.6"}} if probe else {}
        laid = Laid(objects=1, kept_bytes=1, cpu_ns=1, wall_ns=1, resident=1, threads=1)
        return Started(
            outcome=Outcome(exit_code=0, user_ns=10**8, stdout_digest="d", heap=heap),
            laid=None if cell.level == BARE else laid,
        )


class Hears(Listener):
    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)


def budgeted(where, monkeypatch, budget, **options):
    """The runner, after it ran, and what it said, with one variant, one allocator, adv0 and adv3."""
    monkeypatch.setattr(once.time, "monotonic", lambda: Clockwork.clock)
    spec = spec_of("glibc", fragmented(layouts=0), runs=0, budget=budget)
    spec = msgspec.structs.replace(spec, fragment=msgspec.structs.replace(spec.fragment, **options))
    heard = Hears()
    with Folder.create(where / "e", spec) as folder:
        ran = runner.Runner(folder, heard, Clockwork(folder))
        ran.run()
    return ran, runs_of(where), heard.said


def kinds(runs):
    return [
        sum(bool(getattr(run.cell, kind)) for run in runs) for kind in ("sampled", "counted", "simulated")
    ]


def test_the_budget_bounds_what_comes_after_the_rounds(tmp_path, monkeypatch):
    # Four arms: warm-ups take 0.4 s, a round 0.5 s, two sampled runs 0.2 s, two simulated ones 10 s.
    ran, runs, said = budgeted(tmp_path, monkeypatch, 4.0, caches="machine")
    assert kinds(runs) == [2, 0, 0]
    assert sum(run.seconds for run in runs) <= 4.0
    assert ran.notes == ["the budget of 4 s left no time for 2 of 2 runs in simulated caches"]
    assert "then 2 sampled runs, then 2 runs in simulated caches, each some 50 times as long" in said[0]
    assert "runs as often as 4 s allow: a warm-up" in said[0]
    with Folder.resume(tmp_path / "e") as folder:
        again = runner.Runner(folder, Hears(), Clockwork(folder))
        again.run()
    assert again.notes == ran.notes
    assert runs_of(tmp_path) == runs, "nothing is run that there was no time for"


def test_rounds_leave_time_for_what_comes_after_them(tmp_path, monkeypatch):
    monkeypatch.setattr(counters, "here", lambda: list(counters.EVENTS))
    ran, runs, _ = budgeted(tmp_path, monkeypatch, 7.7, caches=COUNTERS)
    assert kinds(runs) == [2, 10, 0]
    assert max(run.cell.repeat for run in runs) == 11, "12 rounds: 0.4 + 12 * 0.5 + 1.2 s"
    assert sum(run.seconds for run in runs) <= 7.7
    assert (ran.notes, ran.stopped_early) == ([], False)


def test_rounds_end_once_every_ratio_is_decided(tmp_path, monkeypatch):
    """All runs cost the same, so that every ratio is 1."""
    monkeypatch.setattr(levels_run, "Starter", lambda folder, _profile: Clockwork(folder))
    with Folder.create(tmp_path / "e", spec_of("glibc", fragmented(layouts=0), runs=0)) as folder:
        levels_run.keep_profile(folder, PROFILE)
        result = levels_run.run(folder)
    assert (result.rounds, result.decided) == (sequential.LOOKS[0], True)
    assert result.widening == sequential.WIDENING
    with Folder.resume(tmp_path / "e") as folder:
        assert levels_run.run(folder) == result, "it is decided still"


def test_what_fails_in_the_middle_says_how_to_go_on(tmp_path, monkeypatch):
    spec = spec_of("glibc", fragmented(layouts=0))
    refused = littering.require_memory

    def short(litter):
        if litter.objects:
            monkeypatch.setattr(littering.memory, "available", lambda: 1)
        refused(litter)

    with Folder.create(tmp_path / "e", spec) as folder:
        starter = Starter(folder, PROFILE)
        monkeypatch.setattr(littering, "require_memory", short)
        with pytest.raises(ReapError, match="adv3 needs about") as said:
            runner.Runner(folder, Hears(), starter).run()
    assert "choose a lower level" in said.value.hint
    assert f"go on with: reap compare --resume {tmp_path}/e" in said.value.hint
    assert said.value.code == ExitCode.FAILED
    assert [run.cell.level for run in runs_of(tmp_path)] == ["adv0"], "what was run is kept"
