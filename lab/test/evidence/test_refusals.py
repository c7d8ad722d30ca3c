"""Programs that end otherwise when something is preloaded, told from those that vary by themselves."""

import json
from collections.abc import Callable

from lab.test.evidence.measuring import measured
from programs import program, reap

from reap.allocators.records import Allocator
from reap.base.errors import ExitCode
from reap.evidence import refusals, trials
from reap.experiment.runner import Listener
from reap.launch import program as programs
from reap.launch.records import Launch, Outcome
from reap.wall import run as trying

LAUNCH = Launch(argv=["x"], program="/x")


def ended(status: int, **fields: bool) -> Outcome:
    return Outcome(exit_code=status, **fields)


def ends(status: Callable[[Launch], int]) -> Callable[[Launch], Outcome]:
    return lambda launch: ended(status(launch))


def test_what_ends_alike_is_not_run_again() -> None:
    def start(_: Launch) -> Outcome:
        raise AssertionError

    assert refusals.find(LAUNCH, ended(1), ended(1), start) is None
    assert refusals.find(LAUNCH, ended(0), ended(1, timed_out=True), start) is None


def test_what_ends_otherwise_with_any_preload_refuses_all() -> None:
    found = refusals.find(LAUNCH, ended(0), ended(3), ends(lambda launch: 3 if launch.probe else 0))
    assert found == refusals.Refusal(
        "it ends with status 3 and not 0 when anything is preloaded into it", every=True
    )


def test_what_ends_otherwise_under_the_recorder_alone_takes_allocators() -> None:
    found = refusals.find(LAUNCH, ended(0), ended(139), ends(lambda _: 0))
    assert found == refusals.Refusal(
        "it ends with status 139 and not 0 when the recorder is preloaded into it", every=False
    )


def test_a_status_that_varies_by_itself_is_no_refusal() -> None:
    statuses = iter([0, 1])
    assert refusals.find(LAUNCH, ended(0), ended(1), ends(lambda _: next(statuses))) is None


def test_what_refuses_is_known_by_its_watched_run(tmp_path):
    seen = measured(tmp_path, program("refuses"))
    assert seen.wall.refused
    assert seen.status == 0
    assert seen.wall.counted is None
    assert not seen.recorded
    assert "its allocations were not counted: it ends with status 3" in " ".join(seen.wall.notes)
    found = trials.as_seen(programs.resolve([program("refuses")]), seen.wall)
    assert not found.takes_allocators


def test_settings_are_tried_of_what_refuses_and_nothing_is_preloaded(tmp_path, monkeypatch):
    seen = measured(tmp_path, program("refuses"))
    arm = Allocator(name="a setting", environment={"GLIBC_TUNABLES": "glibc.malloc.tcache_count=10"})
    monkeypatch.setattr(trials, "second", lambda *_, **__: trials.Plan(allocators=[arm]))
    first, told = trying.run(
        [program("refuses")],
        seen.wall,
        tmp_path / "trials",
        Listener(),
        base=None,
        budget=3,
        timeout=None,
        stdin=tmp_path / "none",
    )
    assert first is None
    assert told.comparison is not None
    assert told.comparison.exit_code == 0
    assert told.comparison.sides[0].same_exit


def test_wall_says_what_it_saw_of_a_program_that_its_time_limit_ended(tmp_path):
    said = reap("wall", "--timeout", "0.3", "--json", "x.json", "--", "sleep", "60", cwd=tmp_path)
    assert said.returncode == ExitCode.TIMED_OUT
    (answer,) = json.loads((tmp_path / "x.json").read_text())["answers"]
    assert answer["wall"]["unfinished"]
    assert answer["diagnosis"]["headline"] == "inconclusive"
    assert "nothing was tried" in answer["diagnosis"]["paragraph"]
