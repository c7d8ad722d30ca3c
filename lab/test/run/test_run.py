"""`reap run` from one end to the other, and after it was killed."""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from programs import as_nobody, interrupted, library, program, reap, reap_command

from reap.allocators.records import Allocator
from reap.base.errors import ExitCode, ReapError
from reap.commandline import reporting
from reap.drag import once as drag
from reap.drag.exact.records import DragProfile
from reap.evidence import trials
from reap.experiment.folder import Folder
from reap.experiment.specify import Conditions, specify
from reap.launch.records import Outcome

QUICK = ("--budget", "6", "--runs", "2")


def run(folder, *words, **options):
    good = f"glibc,good={library('good')}"
    return reap("run", "--allocators", good, *QUICK, *words, cwd=folder, **options)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    said = run(folder, "-o", "answer", "--json", "answer.json", "--", program("busy"))
    return folder, said


def test_a_run_answers_in_words_and_names_its_files(done):
    _, said = done
    assert said.returncode == 0, said.stderr
    assert f"the report: {done[0]}/answer/report.html" in said.stderr
    assert "the results: answer.json" in said.stderr
    assert f"the recording: reap show {done[0]}/answer/recording.reap" in said.stderr
    assert f"all tables: reap run --resume {done[0]}/answer --details" in said.stderr
    assert "Allocators," not in said.stdout
    assert "Traceback" not in said.stderr
    assert "Verdict: " in said.stdout
    whole = reap("run", "--resume", str(done[0] / "answer"), "--details", cwd=done[0])
    assert "good" in whole.stdout
    assert whole.stdout.index("Allocators,") < whole.stdout.index("Verdict: ")


def test_everything_of_a_run_is_private(done):
    folder, _ = done
    assert stat.S_IMODE((folder / "answer").stat().st_mode) == 0o700
    for name in ("recording.reap", "evidence.json", "report.html"):
        assert stat.S_IMODE((folder / "answer" / name).stat().st_mode) == 0o600


def test_a_run_has_a_profile_a_comparison_and_a_diagnosis(done):
    folder, _ = done
    (answer,) = json.loads((folder / "answer.json").read_text())["answers"]
    assert answer["profile"]["totals"]["total_objects"] > 40000
    assert answer["comparison"]["rounds"] >= 2
    sides = [side["allocator"] for side in answer["comparison"]["sides"]]
    assert sides == ["good", "price: recycle"]
    assert answer["diagnosis"]["paragraph"]
    kept = json.loads((folder / "answer" / "experiment.json").read_text())["spec"]
    assert (kept["budget"], kept["reserved"]) == (6, trials.RESERVED)


COLLECTS = """
keep = []
for number in range(120_000):
    keep.append([number])
print(len(keep))
"""


def test_a_collector_that_takes_much_of_the_time_is_named(tmp_path):
    done = run(tmp_path, "-o", "answer", "--json", "answer.json", "--", sys.executable, "-c", COLLECTS)
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads((tmp_path / "answer.json").read_text())["answers"]
    (found,) = (each for each in answer["diagnosis"]["findings"] if each["cause"] == "garbage collection")
    assert found["status"] != "refuted"  # two rounds decide nothing
    assert "CPython's collector of cycles" in found["statements"][0]["statement"]
    assert "gc.freeze()" in found["by_hand"][0]["name"]


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3)])
def test_the_exit_code_is_the_programs(tmp_path, script, code):
    said = run(tmp_path, "--", "sh", "-c", script)
    assert said.returncode == code, said.stderr


def test_what_a_program_said_when_it_failed_is_told(tmp_path):
    """Its own output goes nowhere: a missing file showed as a program that is too short."""
    said = run(tmp_path, "--", "sh", "-c", "echo starting >&2; echo no such profile >&2; exit 3")
    assert "status 3 (no such profile)" in " ".join(said.stdout.split())


def test_a_run_that_takes_too_long_says_so(tmp_path):
    said = run(tmp_path, "--timeout", "0.3", "-o", "x", "--", "sleep", "60")
    assert said.returncode == ExitCode.TIMED_OUT
    assert "did not end within 0.3 s" in said.stderr
    assert f"reap show {tmp_path}/x/recording.reap" in said.stderr
    assert reap("show", "x/recording.reap", cwd=tmp_path).returncode == 0
    assert "Verdict: inconclusive" in said.stdout
    assert "trials need whole runs: nothing was tried" in " ".join(said.stdout.split())


def test_an_interrupt_ends_the_first_run_and_resume_makes_a_whole_one(tmp_path):
    script = "touch begun; test -e whole || sleep 60"
    printed, said = interrupted("run", *QUICK, "-o", "x", "--", "sh", "-c", script, folder=tmp_path)
    assert "was ended: nothing is tried" in said
    assert "trials need whole runs: nothing was tried" in " ".join(printed.split())
    (tmp_path / "whole").touch()
    again = reap("run", "--resume", "x", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "nothing was tried" not in " ".join(again.stdout.split())


def test_a_program_that_takes_longer_than_trials_may_is_watched_alone(tmp_path):
    words = ["--budget", "1", "-o", "x", "--json", "x.json", "--", "sleep", "0.2"]
    said = reap("run", *words, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "trials would take about" in " ".join(said.stdout.split())
    assert "reap run --budget" in said.stdout
    (answer,) = json.loads((tmp_path / "x.json").read_text())["answers"]
    assert not answer.get("comparison")


def test_what_is_statically_linked_is_watched_and_gets_a_verdict(tmp_path):
    said = reap("run", *QUICK, "-o", "x", "--", program("peak_static"), "1", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "Verdict: inconclusive" in said.stdout
    assert "cannot be tried from outside" in said.stdout
    assert "the recording" not in said.stderr
    asked = run(tmp_path, "--", program("peak_static"), "1")
    assert asked.returncode == ExitCode.NOT_EXECUTABLE, "another allocator was asked for, and cannot serve it"


def test_a_program_that_refuses_preloads_is_judged_by_what_was_watched(tmp_path):
    said = run(tmp_path, "-o", "x", "--json", "x.json", "--", program("refuses"))
    assert said.returncode == 0, said.stderr
    (answer,) = json.loads((tmp_path / "x.json").read_text())["answers"]
    assert answer["diagnosis"]["headline"] == "inconclusive"
    assert "it ends with status 3 and not 0 when anything is preloaded" in answer["diagnosis"]["paragraph"]
    assert answer["wall"]["counted"] is None
    assert answer["comparison"] is None


def test_what_exists_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "x.json").write_text("precious")
    said = run(tmp_path, "--json", "x.json", "--", "sh", "-c", "touch ran")
    assert said.returncode == ExitCode.INTERNAL
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "x.json").read_text() == "precious"


def test_a_file_may_be_named_in_the_folder_that_is_made_and_not_where_it_cannot_be_written(tmp_path):
    reporting.refuse_existing(tmp_path / "x" / "y.json", force=False, made=tmp_path / "x")
    reporting.refuse_existing(Path("/dev/null"), force=True)
    with pytest.raises(ReapError, match="does not exist"):
        reporting.refuse_existing(tmp_path / "z" / "y.json", force=False, made=tmp_path / "x")
    with tempfile.TemporaryDirectory() as name:
        there = Path(name) / "there.json"
        there.touch()
        there.chmod(0o666)  # his to write, and not to replace
        Path(name).chmod(0o555)
        (tmp_path / "hidden" / "deep").mkdir(parents=True)
        (tmp_path / "hidden").chmod(0)

        def action():
            said = []
            for path in (there, tmp_path / "hidden" / "deep" / "x.json"):
                try:
                    reporting.refuse_existing(path, force=True)
                except ReapError as error:
                    said.append(error.what)
            return "; ".join(said)

        said = as_nobody(action)
        (tmp_path / "hidden").chmod(0o700)
        assert said.count("could not be written") == 2


def killed_when(folder, command, ready):
    """Starts `reap run` and kills it outright as soon as `ready()`."""
    good = f"glibc,good={library('good')}"
    words = [*reap_command(), "run", "--allocators", good, *QUICK, "-o", "x", "--", *command]
    process = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < until
        assert process.poll() is None, process.returncode
        time.sleep(0.005)
    process.kill()
    assert process.wait() == -signal.SIGKILL


STAYS = (
    "echo run >> ran; {program}; until test -e go || test `cat {runs} | wc -l` -lt {at}; do sleep 0.02; done"
)
"""Ends when it is told to, if so many runs have ended before it."""


def test_a_run_that_was_killed_while_it_recorded_goes_on(tmp_path):
    command = ["sh", "-c", STAYS.format(program=program("busy"), runs="/dev/null", at=0)]
    killed_when(tmp_path, command, (tmp_path / "ran").exists)
    (tmp_path / "go").touch()
    assert not (tmp_path / "x" / "evidence.json").exists()
    said = reap("run", "--resume", "x", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "x" / "report.html").exists()


def test_a_run_that_was_killed_while_it_compared_goes_on_where_it_was(tmp_path):
    runs = tmp_path / "x" / "runs.jsonl"
    command = ["sh", "-c", STAYS.format(program=program("busy"), runs=runs, at=2)]
    killed_when(tmp_path, command, lambda: runs.exists() and runs.read_text().count("\n") >= 2)
    (tmp_path / "go").touch()
    recorded = (tmp_path / "x" / "recording.reap").read_bytes()
    kept = "".join(line for line in runs.read_text().splitlines(keepends=True) if line.endswith("\n"))
    before = (tmp_path / "ran").read_text().count("run")
    said = reap("run", "--resume", "x", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "x" / "recording.reap").read_bytes() == recorded
    assert runs.read_text().startswith(kept)
    after, made = (tmp_path / "ran").read_text().count("run"), runs.read_text().count("\n") - kept.count("\n")
    assert 0 < after - before <= made + 2, (
        "runs in the folder are not run again, but for the check of an allocator"
    )


def test_a_reader_that_has_seen_enough_does_not_cost_the_report(tmp_path):
    receiving, sending = os.pipe()
    os.close(receiving)
    said = run(
        tmp_path, "-o", "x", "--json", "x.json", "--", program("busy"),
        capture_output=False, stdout=sending, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(sending)
    assert said.returncode == -signal.SIGPIPE
    assert (tmp_path / "x" / "report.html").stat().st_size > 10000
    assert json.loads((tmp_path / "x.json").read_text())["answers"]


def test_drag_is_in_the_answer_and_is_run_once(tmp_path):
    """Under the exact engine, ten times slower: what is kept in the folder is not run again."""
    script = f"test -e made || exit 9; echo run >> ran; exec {program('busy')}"
    hooks = ("--prepare", "touch made", "--cleanup", "rm made")
    said = run(tmp_path, "--drag", *hooks, "-o", "x", "--json", "x.json", "--", "sh", "-c", script)
    assert said.returncode == 0, said.stderr
    assert "under the drag engine" in said.stderr
    (answer,) = json.loads((tmp_path / "x.json").read_text())["answers"]
    assert answer["profile"]["totals"]["total_objects"] > 40000
    busy = next(each for each in answer["drag"]["processes"] if each["command"][0] == program("busy"))
    assert busy["levels"][0]["total"]["objects"] > 40000
    page = (tmp_path / "x" / "report.html").read_text()
    assert "Memory held after its last use (drag)" in page
    assert stat.S_IMODE((tmp_path / "x" / "drag.json").stat().st_mode) == 0o600
    before = (tmp_path / "ran").read_text().count("run")
    said = reap("run", "--resume", "x", "--json", "y.json", cwd=tmp_path)  # it was asked for before
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "ran").read_text().count("run") == before
    (again,) = json.loads((tmp_path / "y.json").read_text())["answers"]
    assert again["drag"] == answer["drag"]


def test_without_the_drag_engine_nothing_is_begun(tmp_path):
    bare = tmp_path / "bin"
    bare.mkdir()
    said = run(tmp_path, "--drag", "-o", "x", "--", program("busy"), env={**os.environ, "PATH": str(bare)})
    assert said.returncode == ExitCode.FAILED
    assert "apt-get install" in said.stderr
    assert not (tmp_path / "x").exists()


def test_drag_that_was_seen_is_kept_and_what_is_damaged_is_told(tmp_path, monkeypatch):
    seen = DragProfile(command=["true"], engine="exact", status=0, processes=[])
    runs = []
    monkeypatch.setattr(drag, "measure", lambda *words: runs.append(words) or (seen, Outcome(exit_code=0)))
    spec = specify(["true"], [Allocator(name="good", library=library("good"))], conditions=Conditions(runs=2))
    with Folder.create(tmp_path / "x", spec) as folder:
        assert drag.kept(folder) is None
        assert drag.once(folder, print) == drag.once(folder, print) == drag.kept(folder) == seen
        assert len(runs) == 1
        for damage in (b"", b'{"command": [', b'{"command": ["\xff"]}'):
            (folder.path / drag.KEPT).write_bytes(damage)
            with pytest.raises(ReapError, match=r"drag\.json is damaged") as told:
                drag.kept(folder)
            assert f"rm {folder.path / drag.KEPT}" in told.value.hint
