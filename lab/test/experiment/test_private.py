"""Private copy-on-write views: who gets one, what a program sees in it, and that nothing of it stays."""

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
from reap.experiment import private
from reap.experiment.folder import Folder, read_runs
from reap.experiment.footprint import Footprint
from reap.experiment.records import Comparison, Run
from reap.experiment.specify import Conditions, Workload, specify
from reap.launch import spawn, together
from reap.launch.records import Launch, Private


def shell(script: str, view: Private, **options: object) -> Launch:
    return Launch(argv=["sh", "-c", script], program="/bin/sh", private=view, **options)  # type: ignore[arg-type]


def compared(where: Path, script: str) -> tuple[Comparison, list[Run]]:
    """Of a script that runs in `where`/work."""
    (where / "work").mkdir(exist_ok=True)
    spec = specify(
        ["/bin/sh", "-c", f"{program('busy')}; {script}"],
        catalog.parse(f"glibc,good={library('good')}"),
        workload=Workload(directory=str(where / "work")),
        conditions=Conditions(pairing="auto", runs=2),
    )
    with Folder.create(where / "experiment", spec, None) as folder:
        comparison = comparing.compare(folder)
    return comparison, read_runs(where / "experiment" / "runs.jsonl")[0]


PRIVATE = {
    "writes a file": "echo x >file",
    "appends to a file": "echo x >>file",
    "takes a lock": "flock file sleep 0.1",
    "changes a database": "sqlite3 base 'create table if not exists a(b); insert into a values(1)'",
    "uses a temporary folder": "TMPDIR=$PWD; cd $TMPDIR; mkdir fixed; echo x >fixed/x; rm -r fixed",
    "calls without a folder": "rm -rf f; mkdir f; chmod 700 f",
    "renames a file": "echo x >new; mv new file",
    "writes through a symbolic link": "ln -sf ../work/target link; echo x >>link",
}


@pytest.mark.parametrize("what", PRIVATE)
def test_copies_that_would_write_the_same_files_run_at_the_same_time(what: str, tmp_path: Path) -> None:
    comparison, runs = compared(tmp_path, PRIVATE[what])
    assert comparison.pairing.reason == ""
    assert comparison.pairing.method == "simultaneous"
    assert comparison.pairing.private is not None
    assert comparison.pairing.private.folders == [str(tmp_path / "work")]
    assert [run.together for run in runs] == [False] * 2 + [True] * 6
    assert {run.outcome.status for run in runs} == {0}


def test_relative_paths_are_those_of_each_folder_that_the_program_was_in(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    script = "import os; os.path.exists('made') and os.rmdir('made'); os.mkdir('made'); os.chdir('../other')"
    (tmp_path / "script.py").write_text(f"{script}; os.path.exists('b') or os.mkdir('b'); os.rmdir('b')")
    comparison, runs = compared(tmp_path, f"{sys.executable} ../script.py")
    assert comparison.pairing.method == "simultaneous"
    assert comparison.pairing.private is not None
    assert comparison.pairing.private.folders == [str(tmp_path / "other"), str(tmp_path / "work")]
    assert {run.outcome.status for run in runs} == {0}


def test_runs_of_a_round_leave_the_user_s_files_as_they_are(tmp_path: Path) -> None:
    """The warm-ups and the watched run write as ever; each run of a round begins from what they left."""
    comparison, runs = compared(tmp_path, "echo x >>file; wc -l <file >&2; test -e other || echo y >other")
    assert comparison.pairing.method == "simultaneous"
    assert (tmp_path / "work" / "file").read_text() == "x\n" * 3
    assert {run.outcome.stderr_tail for run in runs if run.together} == {"4\n"}
    assert len({run.outcome.written_digest for run in runs if run.together}) == 1
    assert all(run.outcome.written_bytes for run in runs if run.together)


def test_a_program_that_sees_the_view_is_compared_one_after_another(tmp_path: Path) -> None:
    comparison, _ = compared(tmp_path, "echo x >file; grep -c overlay /proc/self/mounts; true")
    assert comparison.pairing.method == "sequential"
    assert "does not work: the program prints something else there" in comparison.pairing.reason


def test_a_program_that_fails_in_the_view_is_compared_one_after_another(tmp_path: Path) -> None:
    script = "echo x >file; if grep -q ^overlay.*/work /proc/self/mounts; then echo no >&2; exit 7; fi"
    comparison, _ = compared(tmp_path, script)
    assert comparison.pairing.method == "sequential"
    assert "the program ends with 7 there (no)" in comparison.pairing.reason


def test_what_a_run_wrote_is_told_apart_by_name_mode_and_content(tmp_path: Path) -> None:
    scripts = ["echo a >f", "echo a >f", "echo b >f", "echo a >g", "echo a >f; chmod 600 f"]
    view = Private(folders=[str(tmp_path)])
    one, same, *others = together.run([shell(each, view, directory=str(tmp_path)) for each in scripts], 0)
    assert one.written_digest == same.written_digest
    assert len({each.written_digest for each in (one, *others)}) == 4
    assert not list(tmp_path.iterdir())


def test_a_program_sees_no_other_difference(tmp_path: Path) -> None:
    odd = tmp_path / "a, b:c\\d"
    odd.mkdir(mode=0o751)
    (odd / "old").write_text("old")
    script = "pwd; id; umask; ls -ldn . old; cat old; rm old; mkdir old; rmdir old; exit 3"
    view = Private(folders=[str(odd)], files=[str(odd / "old")])
    within = spawn.run(shell(script.replace("ls -ldn .", "stat -c %a%u%g%Y ."), view, directory=str(odd)))
    assert (odd / "old").read_text() == "old"
    launch = Launch(
        argv=["sh", "-c", script.replace("ls -ldn .", "stat -c %a%u%g%Y .")],
        program="/bin/sh",
        directory=str(odd),
    )
    without = spawn.run(launch)
    assert (within.exit_code, within.stderr_tail) == (without.exit_code, without.stderr_tail)
    assert within.exit_code == 3
    assert within.stdout_digest == without.stdout_digest


def test_a_view_that_cannot_be_had_is_an_error_that_says_so(tmp_path: Path) -> None:
    view = Private(folders=[str(tmp_path / "missing")])
    outcome = private.tried(shell("true", view), view, Footprint(), set())
    assert outcome == "the launcher failed at overlay: No such file or directory"


def footprint_of(*paths: str) -> Footprint:
    return Footprint(shares=["changes"], changed={"changes": [list(paths)]})


def test_folders_that_can_have_no_view_are_named(tmp_path: Path) -> None:
    (tmp_path / "pipe").touch()
    (tmp_path / "pipe").unlink()
    os.mkfifo(tmp_path / "pipe")
    assert private.plan([footprint_of(str(tmp_path / "pipe"))]) == f"{tmp_path}/pipe is no regular file"
    assert private.plan([footprint_of("/dev/null-1")]) in {
        "/dev is on devtmpfs",
        "/dev/shm is mounted within /dev",
        "/dev/pts is mounted within /dev",
    }
    assert private.plan([footprint_of("/etc/x", "/usr/x")]) == "/ cannot be private"
    assert private.plan([footprint_of("/proc/sys/x")]) == "/proc/sys cannot be private"


def test_the_outermost_folders_are_covered(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    held = private.plan(
        [
            footprint_of(f"{tmp_path}/a/b/gone/file"),
            footprint_of(f"{tmp_path}/a/x", f"{tmp_path}/a/b/y"),
        ]
    )
    assert held == Private(folders=[f"{tmp_path}/a"])


KILLED = """
import sys
from reap.launch import together
from reap.launch.records import Launch, Private
words, folder = sys.argv[1:]
view = Private(folders=[folder])
launch = Launch(argv=["sh", "-c", words], program="/bin/sh", private=view, directory=folder)
together.run([launch, launch], 0)
"""


def test_nothing_stays_when_reap_is_killed(tmp_path: Path) -> None:
    scratch, folder = tmp_path / "scratch", tmp_path / "folder"
    scratch.mkdir()
    folder.mkdir()
    mounts = Path("/proc/self/mounts").read_text()
    mark = f"sleep 100.{os.getpid()}0815"
    words = [sys.executable, "-c", KILLED, f"echo x >file; echo begun >/proc/$PPID/fd/2; {mark}", str(folder)]
    with subprocess.Popen(
        words, env={**os.environ, "TMPDIR": str(scratch)}, stderr=subprocess.PIPE, text=True
    ) as reap:
        assert reap.stderr is not None
        assert [reap.stderr.readline(), reap.stderr.readline()] == ["begun\n"] * 2
        reap.send_signal(signal.SIGKILL)
    assert ends(mark)
    until = time.monotonic() + 20
    while list(scratch.glob("*/private")) and time.monotonic() < until:
        time.sleep(0.05)
    assert not list(scratch.glob("*/*"))
    assert not list(folder.iterdir())
    assert Path("/proc/self/mounts").read_text() == mounts
