"""A full study on several cores: which experiment runs where, and how it stops."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from reap.allocators.records import Allocator
from reap.experiment.budget import MOST_ROUNDS
from reap.experiment.records import Cell, Run
from reap.experiment.runner import InterruptedRunError, Listener
from reap.experiment.specify import AskedFragment
from reap.launch.host import memory
from reap.launch.litter.level import LEVELS
from reap.launch.records import Outcome
from reap_studies.study import forecast, measuring
from reap_studies.study.cores import Cores
from reap_studies.study.measuring import ROUNDS, Work
from reap_studies.workloads import card


class Heard(Listener):
    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)


def work(place: Path, name: str = "gawk", **heaps: object) -> Work:
    asked = {"levels": [LEVELS["adv0"], LEVELS["adv3"]], "layouts": 0, "controls": False, **heaps}
    allocators = [Allocator(name="glibc"), Allocator(name="other", library="/nowhere/other.so")]
    return Work(place, card.load(name), "full", allocators, AskedFragment(**asked))


def where(work: Work, rounds: int, listener: Listener) -> None:
    """In place of `measuring.measure`: says which core it is on, and that it is there."""
    work.place.mkdir()
    (work.place / "core").write_text(" ".join(map(str, [*os.sched_getaffinity(0), rounds])))
    (work.place / "memory").write_text(str(memory.available()))
    listener.say("said")


def forever(work: Work, _rounds: int, _listener: Listener) -> None:
    """Measures until it is stopped as by Ctrl-C, which it says."""
    work.place.mkdir()
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        (work.place / "stopped").touch()
        raise


def test_each_experiment_has_a_core_of_its_own(tmp_path):
    cores = sorted(os.sched_getaffinity(0))[:2]
    heard = Heard()
    wanted = {name: work(tmp_path / name) for name in "abc"}
    Cores(2, heard, where).run(wanted, 7)
    found = [(tmp_path / name / "core").read_text().split() for name in "abc"]
    assert {int(core) for core, rounds in found if rounds == "7"} == set(cores)
    shares = [int((tmp_path / name / "memory").read_text()) for name in "abc"]
    assert shares == pytest.approx([memory.available() / len(cores)] * 3, rel=0.2)
    assert sorted(text for text in heard.said if text.endswith("said")) == ["a: said", "b: said", "c: said"]


def test_ctrl_c_stops_all_of_them_once(tmp_path):
    class Interrupted(Heard):
        def say(self, text):
            super().say(text)
            if sum(each.endswith("begins") for each in self.said) == 2:
                for name in "ab":
                    await_it(tmp_path / name)
                raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError):
        Cores(2, Interrupted(), talker).run({name: work(tmp_path / name) for name in "ab"}, 6)
    assert [(tmp_path / name / "stopped").exists() for name in "ab"] == [True, True]


def talker(work: Work, rounds: int, listener: Listener) -> None:
    """As `forever`, once it has said so."""
    listener.say("begins")
    forever(work, rounds, listener)


_KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import test_cores
from reap.experiment.runner import Listener
if __name__ == "__main__":
    place = Path(sys.argv[1])
    test_cores.Cores(1, Listener(), test_cores.forever).run({"a": test_cores.work(place / "a")}, 6)
"""


def test_when_the_study_is_killed_they_stop(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(_KILLED)
    study = subprocess.Popen([sys.executable, str(script), str(tmp_path), str(Path(__file__).parent)])
    await_it(tmp_path / "a")
    study.send_signal(signal.SIGKILL)
    study.wait()
    await_it(tmp_path / "a" / "stopped")


_TWICE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import test_cores
from reap.experiment.runner import Listener
if __name__ == "__main__":
    wanted = {name: test_cores.work(Path(sys.argv[1]) / name) for name in "ab"}
    test_cores.Cores(2, Listener(), test_cores.slowly).run(wanted, 6)
"""


def slowly(work: Work, rounds: int, listener: Listener) -> None:
    """As `forever`, and takes its time to stop."""
    try:
        forever(work, rounds, listener)
    except KeyboardInterrupt:
        time.sleep(0.5)


@pytest.mark.parametrize("apart", [0.0, 0.2])
def test_a_second_ctrl_c_leaves_none_that_goes_on(apart, tmp_path):
    """It came while the first to stop was waited for; the other measured to its end, and was waited for."""
    script = tmp_path / "twice.py"
    script.write_text(_TWICE)
    command = [sys.executable, str(script), str(tmp_path), str(Path(__file__).parent)]
    study = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    for name in "ab":
        await_it(tmp_path / name)
    for _ in range(2):
        study.send_signal(signal.SIGINT)
        time.sleep(apart)
    try:
        assert study.wait(20) != 0
    finally:
        study.kill()


def await_it(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until, path
        time.sleep(0.02)


# How long it takes.


def test_it_says_how_long_it_takes_before_it_begins(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "lacking", lambda _described: "")
    one = work(tmp_path / "gawk")
    found = forecast.of(one)
    run = forecast.LITTERED * measuring.RUN["full"]
    arms = 2 * 2 * 2  # variants, allocators, levels
    first = ROUNDS["full"]
    assert found.least == pytest.approx(run * (arms + first * (arms + 1) + arms), rel=0.1)
    assert found.most - found.least == pytest.approx(run * (MOST_ROUNDS - first) * (arms + 1), rel=0.1)
    assert forecast.of(one, first).most == forecast.of(one, first).least == found.least
    more = forecast.of(work(tmp_path / "gawk", controls=True, layouts=2))
    assert more.least > 1.5 * found.least
    heard = Heard()
    forecast.say([one, work(tmp_path / "m4", "m4")], heard, cores=2)
    assert "2 experiments" in heard.said[0]
    assert "on 2 cores" in heard.said[0]
    assert "m4 (" in heard.said[0]


def test_what_has_run_is_taken_off(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "lacking", lambda _described: "")
    arms = 2 * 2 * 2
    run = Run(cell=Cell(workload="gawk"), outcome=Outcome(exit_code=0), order=0, started=0.0, seconds=3.0)
    monkeypatch.setattr(measuring, "runs", lambda _work: [run] * arms)  # the warm-ups
    first = ROUNDS["full"]
    left = first * (arms + 1) + arms
    assert forecast.of(work(tmp_path / "gawk")).least == pytest.approx(3.0 * left)
    monkeypatch.setattr(measuring, "runs", lambda _work: [run] * 10_000)
    assert forecast.of(work(tmp_path / "gawk")) == ("gawk", 0.0, 0.0)
    monkeypatch.setattr(measuring, "lacking", lambda _described: "not here")
    heard = Heard()
    forecast.say([work(tmp_path / "gawk")], heard)
    assert heard.said == []


# What a rebuilt Reap goes on with.


def test_a_rebuilt_reap_goes_on_with_the_allocator_that_it_began_with(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    own = tmp_path / "libreap-malloc.so"
    own.write_bytes(b"one")
    reap = Allocator(name="reap", library=str(own))
    other = Allocator(name="jemalloc", library=str(own))
    described = msgspec.structs.replace(card.load("gzip"), build=None, prepare=None)
    monkeypatch.setattr(card, "load", lambda _name: described)
    made = Work(tmp_path / "e", described, "full", [other, reap], AskedFragment(levels=[], clean=True))
    before, kept = measuring.spec(made, 1).allocators
    assert before.library == str(own)
    own.write_bytes(b"two")
    assert Path(kept.library).read_bytes() == b"one"
    assert measuring.spec(made, 1).allocators[1].library != kept.library
    assert Path(kept.library).read_bytes() == b"one"
