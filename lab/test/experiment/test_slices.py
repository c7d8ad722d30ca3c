"""Runs of a round in turns on all cores: one at a time, unbiased, and none stays stopped."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import ends, library, program

from reap.allocators import catalog
from reap.compare import run as comparing
from reap.compare.levels import run as levels
from reap.experiment import footprint, metrics
from reap.experiment.folder import Folder
from reap.experiment.records import Asked, Cell, Comparison, Run
from reap.experiment.specify import AskedFragment, Conditions, specify
from reap.launch import freezer, slices, together
from reap.launch.litter.level import LEVELS
from reap.launch.records import Launch, Outcome

BUSY = "import time\nwhile time.process_time() < 0.4: pass"
WAITS = "import os, subprocess; child = subprocess.Popen(['true']); os.waitpid(child.pid, os.WUNTRACED)"
THREADS = """
import hashlib, threading
def work():
    for _ in range(60): hashlib.sha256(bytes(1 << 20)).digest()
threads = [threading.Thread(target=work) for _ in range(2)]
for each in threads: each.start()
for each in threads: each.join()
"""


def python(script: str) -> Launch:
    return Launch(argv=["python3", "-c", script], program=sys.executable)


def shell(script: str) -> Launch:
    return Launch(argv=["sh", "-c", script], program="/bin/sh")


@pytest.fixture(params=["freezer", "signals"])
def turns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What makes the turns: as it is here, or as where no cgroup can be made."""
    if request.param == "signals":
        monkeypatch.setattr(freezer, "here", lambda: None)
    elif freezer.here() is None:
        pytest.skip("no cgroup with a freezer can be made here")
    return str(request.param)


def compared(where: Path, command: list[str], asked: Asked = "sliced") -> Comparison:
    spec = specify(
        command,
        catalog.parse(f"glibc,good={library('good')}"),
        conditions=Conditions(pairing=asked, runs=2),
    )
    with Folder.create(where / "experiment", spec, None) as folder:
        return comparing.compare(folder)


@pytest.mark.usefixtures("turns")
def test_one_at_a_time_runs() -> None:
    """Side by side on two cores they would take half of their CPU times together."""
    begun = time.monotonic_ns()
    outcomes = together.run([python(BUSY)] * 3, None)
    took = time.monotonic_ns() - begun
    assert [each.status for each in outcomes] == [0] * 3
    assert 0.85 * sum(each.cpu_ns for each in outcomes) < sum(each.wall_ns for each in outcomes) < took


@pytest.mark.usefixtures("turns")
def test_children_take_turns_with_their_parent() -> None:
    launch = shell(f"'{sys.executable}' -c '{BUSY}' & wait")
    begun = time.monotonic_ns()
    outcomes = together.run([launch] * 3, None)
    assert time.monotonic_ns() - begun > 0.85 * sum(each.cpu_ns for each in outcomes)


def test_each_has_its_own_output_and_status() -> None:
    one, other = together.run([shell("sleep 0.2; echo one; exit 3"), shell("echo other >&2; exit 4")], None)
    assert (one.exit_code, one.stdout_bytes, one.stderr_tail) == (3, 4, "")
    assert (other.exit_code, other.stdout_bytes, other.stderr_tail) == (4, 0, "other\n")


@pytest.mark.usefixtures("turns")
def test_none_stays_stopped_when_turns_end_by_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = iter([False, False])
    monkeypatch.setattr(slices, "_ends", lambda *_: next(turns))
    mark = f"sleep 100.{os.getpid()}2718"
    with pytest.raises(StopIteration):
        together.run([shell(mark)] * 3, None)
    assert ends(mark)


KILLED = """
import sys
from reap.launch import together
from reap.launch.records import Launch
together.run([Launch(argv=["sh", "-c", sys.argv[1]], program="/bin/sh")] * 3, None)
"""


def test_nothing_stays_when_reap_is_killed() -> None:
    mark = f"sleep 100.{os.getpid()}3141"
    with subprocess.Popen([sys.executable, "-c", KILLED, mark]) as reap:
        time.sleep(0.7)
        reap.send_signal(signal.SIGKILL)
    assert ends(mark)


def test_a_program_with_job_control_is_seen() -> None:
    assert footprint.watch(python(WAITS)).job_control
    assert not footprint.watch(shell("sleep 0.1; true")).job_control


def test_a_program_of_several_threads_is_compared_in_turns(tmp_path: Path, turns: str) -> None:
    comparison = compared(tmp_path, [sys.executable, "-c", THREADS])
    found = comparison.pairing
    assert (found.method, found.reason, found.turns) == ("sliced", "", turns)
    assert "cpu" in comparison.sides[0].ratios
    assert "voluntary_switches" not in comparison.sides[0].ratios


def test_it_takes_turns_unasked(tmp_path: Path, turns: str) -> None:
    longer = THREADS.replace("range(60)", "range(700)")
    found = compared(tmp_path, [sys.executable, "-c", longer], "auto").pairing
    assert (found.method, found.turns) == ("sliced", turns)
    # Beside other processes it does not get more than one core.
    assert "cores at once" in found.reason or found.reason == "the program makes threads"


def test_one_that_ends_soon_takes_no_turns(tmp_path: Path) -> None:
    script = "import threading; t = threading.Thread(target=print); t.start(); t.join()"
    found = compared(tmp_path, [sys.executable, "-S", "-c", script], "auto").pairing
    if found.method == "sequential":  # on a busy machine it may take its time
        assert found.reason.endswith(", and ends too soon to take turns")


WORK = "import sys, time\nwhile time.process_time() < float(sys.argv[1]): pass"


@pytest.mark.timed
@pytest.mark.usefixtures("turns")
def test_wall_time_is_that_of_its_own_turns() -> None:
    """One that does twice as much has twice as many turns, whatever the others do meanwhile."""
    launches = [
        Launch(argv=["python3", "-c", WORK, seconds], program=sys.executable) for seconds in ("0.3", "0.6")
    ]
    one, other = together.run(launches, None)
    assert 1.3 < other.wall_ns / one.wall_ns < 3


def test_wall_time_of_turns_says_nothing_of_a_program_that_waits() -> None:
    wall = metrics.named("wall")
    for in_turns, cpu_ns, says in ((True, 95, True), (True, 50, False), (False, 95, False)):
        outcome = Outcome(exit_code=0, user_ns=cpu_ns, wall_ns=100)
        cell = Cell(workload="command")
        run = Run(cell=cell, outcome=outcome, order=0, started=0.0, together=True, in_turns=in_turns)
        assert metrics.says(wall, run) is says


def test_turns_have_private_views_too(tmp_path: Path) -> None:
    comparison = compared(tmp_path, ["/bin/sh", "-c", f"{program('busy')}; echo x >>{tmp_path}/file"])
    assert comparison.pairing.method == "sliced"
    assert comparison.pairing.private is not None
    assert (tmp_path / "file").read_text() == "x\n" * 3


def test_a_program_with_job_control_is_stopped_by_no_signal(tmp_path: Path, turns: str) -> None:
    """The freezer it cannot see."""
    comparison = compared(tmp_path, [sys.executable, "-c", WAITS])
    if turns == "freezer":
        assert comparison.pairing.method == "sliced"
    else:
        assert comparison.pairing.method == "sequential"
        assert "waits for children that stop" in comparison.pairing.reason


@pytest.mark.verdict
def test_turns_cost_no_cpu_time() -> None:
    """Medians of several runs each: within 8 % on a shared machine."""
    in_turns, alone = [], []
    for _ in range(5):
        in_turns += [each.cpu_ns for each in together.run([python(THREADS)] * 2, None)]
        alone += [together.run([python(THREADS)], None)[0].cpu_ns for _ in range(2)]
    assert sorted(in_turns)[5] == pytest.approx(sorted(alone)[5], rel=0.08)


def test_littered_heaps_take_turns_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long ones. And else they run one after another: at the same time they would share the caches."""
    turns, neighbours, methods = [], Counter[slices.Near](), {}
    take_turns = slices.take_turns

    def taken(
        launchers: list["subprocess.Popen[bytes]"], *, turn: slices.Turn, near: list[slices.Near]
    ) -> list[int]:
        turns.append(turn)
        neighbours.update(near)
        return take_turns(launchers, turn=turn, near=near)

    monkeypatch.setattr(slices, "take_turns", taken)
    for asked in ("sliced", "auto"):
        heaps = AskedFragment(levels=[LEVELS["adv0"], LEVELS["adv1"]], layouts=0, controls=False)
        spec = specify(
            ["perl", "-e", "my @a = map { {} } 1 .. 5000"],
            catalog.parse("glibc"),
            conditions=Conditions(pairing=asked, runs=1),
            fragmented=heaps,
        )
        with Folder.create(tmp_path / asked, spec, None) as folder:
            paired = levels.run(folder).pairing
            methods[asked] = (paired.method, bool(paired.reason))
            rounds = [run for run in folder.runs if not run.warmup and not run.cell.sampled]
            assert {run.in_turns for run in rounds} == {asked == "sliced"}
            assert all(run.laid is not None and not run.laid.failure for run in rounds)
    assert methods == {"sliced": ("sliced", False), "auto": ("sequential", True)}
    assert turns == [slices.LONG_TURN]
    assert sorted(neighbours.values()) == [1, 1, 1]  # two levels, and the baseline to itself


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), max_size=12), st.integers(0, 1000))
def test_what_is_near_takes_turns_one_after_another(near: list[slices.Near], seed: int) -> None:
    order = slices.shuffled(dict(enumerate(near)), random.Random(seed))
    assert sorted(order) == list(range(len(near)))
    for words in (1, 2):
        blocks = [key for key, _ in itertools.groupby(near[each][:words] for each in order)]
        assert len(blocks) == len(set(blocks))


def test_the_order_of_turns_is_random() -> None:
    draw = random.Random(20260101)
    near = {each: (("a", "b")[each // 2],) for each in range(4)}
    orders = {tuple(slices.shuffled(near, draw)) for _ in range(200)}
    assert len(orders) == 2 * 2 * 2
    assert len({tuple(slices.shuffled(dict.fromkeys(range(4), ()), draw)) for _ in range(1000)}) == 24
