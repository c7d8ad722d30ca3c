"""Runs of a round in turns on all cores: one at a time, unbiased, and none stays stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import ends, library, program

from reap.allocators import catalog
from reap.compare import run as comparing
from reap.experiment import footprint
from reap.experiment.folder import Folder
from reap.experiment.records import Comparison
from reap.experiment.specify import Conditions, specify
from reap.launch import slices, together
from reap.launch.records import Launch

BUSY = "import time\nwhile time.process_time() < 0.4: pass"
WAITS = "import os, subprocess; os.waitpid(subprocess.Popen(['true']).pid, os.WUNTRACED)"
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


def compared(where: Path, command: list[str]) -> Comparison:
    spec = specify(
        command,
        catalog.parse(f"glibc,good={library('good')}"),
        conditions=Conditions(pairing="sliced", runs=2),
    )
    with Folder.create(where / "experiment", spec, None) as folder:
        return comparing.compare(folder)


def test_one_at_a_time_runs() -> None:
    """Side by side on two cores they would take half of their CPU times together."""
    outcomes = together.run([python(BUSY)] * 3, None)
    assert [each.status for each in outcomes] == [0] * 3
    assert max(each.wall_ns for each in outcomes) > 0.85 * sum(each.cpu_ns for each in outcomes)


def test_children_take_turns_with_their_parent() -> None:
    launch = shell(f"'{sys.executable}' -c '{BUSY}' & wait")
    outcomes = together.run([launch] * 3, None)
    assert max(each.wall_ns for each in outcomes) > 0.85 * sum(each.cpu_ns for each in outcomes)


def test_each_has_its_own_output_and_status() -> None:
    one, other = together.run([shell("sleep 0.2; echo one; exit 3"), shell("echo other >&2; exit 4")], None)
    assert (one.exit_code, one.stdout_bytes, one.stderr_tail) == (3, 4, "")
    assert (other.exit_code, other.stdout_bytes, other.stderr_tail) == (4, 0, "other\n")


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


def test_a_program_of_several_threads_is_compared_in_turns(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [sys.executable, "-c", THREADS])
    assert (comparison.pairing.method, comparison.pairing.reason) == ("sliced", "")
    assert "wall" not in comparison.sides[0].ratios
    assert "cpu" in comparison.sides[0].ratios


def test_turns_have_private_views_too(tmp_path: Path) -> None:
    comparison = compared(tmp_path, ["/bin/sh", "-c", f"{program('busy')}; echo x >>{tmp_path}/file"])
    assert comparison.pairing.method == "sliced"
    assert comparison.pairing.private is not None
    assert (tmp_path / "file").read_text() == "x\n" * 3


def test_a_program_with_job_control_is_compared_one_after_another(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [sys.executable, "-c", WAITS])
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
