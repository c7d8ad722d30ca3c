"""`reap rss` on real programs: it finds the memory where it was put, and leaves the program as it is."""

import contextlib
import csv
import errno
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lab.test.rss.waiting import wait_for
from programs import as_nobody, program, reap, reap_command
from recorded import target

from reap.base.errors import ExitCode, ReapError
from reap.base.files import folder_for_programs
from reap.launch import native_files
from reap.launch.process import smaps
from reap.launch.process.records import Moment
from reap.rss import file
from reap.rss.run import Log, rows

MB = 1 << 20
ALLOCATORS = ("glibc", "jemalloc", "tcmalloc", "mimalloc")


def held_open(*words, until, folder, options=()):
    """`reap rss` on a program that waits for the end of its input.

    That comes when `until` has been so for most of the second half of the time, which is settled then.
    """
    rows, results = folder / "rows.csv", folder / "results.json"
    process = subprocess.Popen(
        [*reap_command(), "rss", "-o", rows, "--json", results, "--interval", "0.05", *options, "--", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: rows.exists() and has_settled(read_rows(rows), until))
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    return json.loads(results.read_text()), said


def has_settled(seen, until):
    first = next((row["seconds"] for row in seen if until(row)), None)
    return first is not None and seen[-1]["seconds"] > 2 * first + 0.2


def read_rows(path):
    whole = path.read_text().rpartition("\n")[0]
    return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(whole.splitlines())]


def part(name, least):
    return lambda row: row[name] >= least


def all_freed(row):
    """Not one of `scattered` while it still frees: it ends as soon as its input does."""
    return row["pinned"] >= 10 * MB and row["live"] < 17 * MB


def test_a_pin_of_one_block_holds_200_mb(tmp_path):
    results, said = held_open(target("resides"), "pin", until=part("pinned", 190 * MB), folder=tmp_path)
    last = results["processes"][0]["moments"][-1]
    assert results["verdict"]["cause"] == "pinned"
    assert last["parts"]["pinned"] >= 0.95 * last["resident"]
    # What lies in the thread's cache looks live, and may lie above it, too.
    assert 1 <= last["pin"]["blocks"] <= 8
    assert last["pin"]["stretch"] >= 190 * MB
    assert "malloc_trim(0)" in said
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600, 0o600]
    assert "all snapshots: " in said
    assert "next: " in said


@pytest.mark.verdict
def test_malloc_trim_gives_it_back(tmp_path):
    results, _ = held_open(
        target("resides"),
        "pin",
        "trim",
        until=lambda row: row["seconds"] > 0.5 and row["resident"] < 20 * MB,
        folder=tmp_path,
    )
    assert results["processes"][0]["moments"][-1]["parts"]["pinned"] < MB


def test_live_bytes_are_live(tmp_path):
    results, _ = held_open(target("resides"), "live", until=part("live", 62 * MB), folder=tmp_path)
    assert results["verdict"]["cause"] == "live"
    parts = results["processes"][0]["moments"][-1]["parts"]
    assert abs(parts["live"] - 64 * MB) < 3 * MB


def test_free_bytes_beside_live_ones_lie_inside_pages(tmp_path):
    """Of four blocks of half a page the first stays: one page of two is free as a whole."""
    results, _ = held_open(target("resides"), "scattered", until=all_freed, folder=tmp_path)
    parts = results["processes"][0]["moments"][-1]["parts"]
    assert abs(parts["live"] - 16 * MB) < MB
    assert parts["inside"] > 8 * MB
    assert abs(parts["live"] + parts["inside"] + parts["pinned"] - 64 * MB) < 3 * MB


def test_a_free_top_is_told_from_a_pin(tmp_path):
    results, _ = held_open(target("resides"), "top", until=part("top", 60 * MB), folder=tmp_path)
    assert results["verdict"]["cause"] == "top"


def test_heaps_of_threads_are_told_from_the_main_one(tmp_path):
    results, _ = held_open(target("resides"), "threads", until=part("held", 50 * MB), folder=tmp_path)
    assert results["verdict"]["cause"] == "held"
    assert results["verdict"]["remedies"][0]["environment"] == {"GLIBC_TUNABLES": "glibc.malloc.arena_max=2"}


@pytest.mark.parametrize("allocator", ["jemalloc", "tcmalloc"])
def test_other_allocators_are_asked(tmp_path, allocator):
    results, _ = held_open(
        target("resides"),
        "live",
        until=part("live", 60 * MB),
        folder=tmp_path,
        options=["--allocator", allocator],
    )
    first = results["processes"][0]
    assert (first["allocator"], results["verdict"]["cause"]) == (allocator, "live")
    assert allocator in first["provider"]


def test_under_any_allocator_a_recording_says_what_is_live(tmp_path):
    """mimalloc does not; the recorder is in front of it, and the asking finds it all the same."""
    results, _ = held_open(
        target("resides"),
        "live",
        until=part("heap", 60 * MB),
        folder=tmp_path,
        options=["--allocator", "mimalloc", "--record", tmp_path / "recording"],
    )
    first = results["processes"][0]
    assert first["allocator"] == "mimalloc"
    assert 32768 * 2032 <= first["recorded"] < 32768 * 2032 + MB
    assert results["verdict"]["cause"] == "live"


def asked(*words, allocator="", folder, **options):
    """A program under the preload alone, and what its allocator said last."""
    preloads = [str(native_files.preload("resident")), *([allocator] if allocator else [])]
    environment = {
        **os.environ,
        "LD_PRELOAD": ":".join(preloads),
        file.VARIABLE: f"1000:{folder}",
    }
    with subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    ) as process:
        try:
            out, err = process.communicate(timeout=100)
        finally:
            process.kill()  # one that hangs, or nothing
    return process.returncode, out, err, file.read(folder / str(process.pid))


def library_of(name):
    from reap.allocators import catalog

    return catalog.parse(name)[0].library


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_forks_beside_the_asking_go_well(tmp_path, allocator):
    """At a thousand questions a second some fork meets one, under whatever locks that are taken."""
    status, _, err, said = asked(target("resides"), "forks", allocator=library_of(allocator), folder=tmp_path)
    assert (status, err) == (0, "")
    assert said.kind == allocator
    assert len(list(tmp_path.iterdir())) == 1, "children of forks write nothing"


@pytest.mark.parametrize("mode", ["cancelled", "exits"])
def test_a_process_ends_with_its_main_however_that_ends(tmp_path, mode):
    assert asked(target("resides"), mode, folder=tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("mode", "output"),
    [("leaves", "went on\n"), ("files", ""), ("signals", "15\n" * 20), ("user", "65534\n")],
)
def test_the_program_does_what_it_always_does(tmp_path, mode, output):
    if mode == "user" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    status, out, err, said = asked(target("resides"), mode, folder=tmp_path)
    assert (status, out, err) == (0, output, "")
    assert said.kind == "glibc"


SETPRIV = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_program_that_keeps_capabilities_and_changes_its_user_is_not_killed(tmp_path):
    """As setpriv does before PostgreSQL: PR_SET_KEEPCAPS is one thread's, and its second change needs it."""
    status, _, err, _ = asked(*SETPRIV, "sleep", "0.2", folder=tmp_path)
    assert (status, err) == (0, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("exec_", ["", "exec "])
def test_a_program_that_runs_as_another_user_is_asked(exec_):
    """Its file is another user's, or in the place of one that root's program made under the same number."""
    with folder_for_programs("reap-test-") as folder:
        words = [*SETPRIV, "/bin/sh", "-c", f"{exec_}grep -c ^.*{folder}/ /proc/self/maps"]
        status, out, err, _ = asked(*words, folder=folder)
    assert (status, out, err) == (0, "1\n", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="without root a container may forbid namespaces")
@pytest.mark.parametrize("what", ["--user", "--time", "--mount", "--pid --fork"])
def test_a_program_may_change_its_namespaces(tmp_path, what):
    """A user or time namespace is only for who has one thread."""
    words = ["unshare", *what.split(), "/bin/sh", "-c", "sleep 0.1; echo inside"]
    if subprocess.run(words, check=False, capture_output=True).returncode != 0:
        pytest.skip("such a namespace may not be made here")
    status, out, err, _ = asked(*words, folder=tmp_path)
    assert (status, out, err) == (0, "inside\n", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="without root a container may forbid namespaces")
def test_each_of_many_programs_may_change_its_namespace(tmp_path):
    """A thread that was joined is one of the process's until the kernel has removed it."""
    if subprocess.run(["unshare", "--user", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("such a namespace may not be made here")
    script = "for i in $(seq 200); do unshare --user true || echo refused; done; echo done"
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)]
    try:
        status, out, err, _ = asked("sh", "-c", script, folder=tmp_path)
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert (status, out, err) == (0, "done\n", "")


def test_the_kernel_s_own_peak_is_in_the_results(tmp_path):
    words = ["rss", "--json", "r.json", "-o", "rows", "--", program("peak"), "60"]
    assert reap(*words, cwd=tmp_path).returncode == 0
    assert json.loads((tmp_path / "r.json").read_text())["processes"][0]["peak"] > 60 * MB


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a PID namespace")
def test_a_program_in_a_pid_namespace_is_asked(tmp_path):
    """It has another number there than here."""
    words = ["unshare", "--pid", "--fork", target("resides"), "live"]
    results, _ = held_open(*words, until=part("live", 60 * MB), folder=tmp_path)
    assert results["processes"][0]["allocator"] == "glibc"


@pytest.mark.parametrize("status", [0, 3])
def test_a_program_that_ends_before_it_is_seen_keeps_its_status(tmp_path, status):
    """A look comes before the program, or after it: both are the program's own status."""
    for attempt in range(6):
        words = ["sh", "-c", f"exit {status}"]
        done = reap("rss", "--no-ask", "-o", str(tmp_path / f"{attempt}.csv"), "--", *words)
        assert done.returncode == status, done.stderr


def test_what_is_executed_next_is_asked_anew(tmp_path):
    status, out, _, said = asked("/bin/sh", "-c", "exec sleep 0.2", folder=tmp_path)
    assert (status, out) == (0, "")
    assert said.stamp


def test_without_a_folder_nothing_happens(tmp_path):
    status, out, err, said = asked("/bin/echo", "hello", folder=tmp_path / "nowhere")
    assert (status, out, err, said) == (0, "hello\n", "", None)


def test_a_static_program_is_looked_at_from_outside(tmp_path):
    results, said = held_open(
        target("resides", "-static"), "live", until=part("heap", 60 * MB), folder=tmp_path
    )
    said = " ".join(said.split())
    assert "is statically linked: nothing can be preloaded into it; what the kernel says is all" in said
    assert results["verdict"]["cause"] == "heap"


def test_what_a_program_said_before_it_became_a_static_one_is_forgotten(tmp_path):
    words = (target("resides"), "becomes", target("resides", "-static"), "live")
    results, _ = held_open(*words, until=part("heap", 60 * MB), folder=tmp_path)
    first = results["processes"][0]
    assert any(moment["said"] for moment in first["moments"])
    assert not first["moments"][-1]["said"]
    assert (first["allocator"], results["verdict"]["cause"]) == ("", "heap")


def test_a_process_is_seen_when_its_main_has_ended(tmp_path):
    """Its first thread is a zombie and has no memory; what it said before is not of now."""
    results, _ = held_open(
        target("resides"), "behind", until=lambda row: row["resident"] > 60 * MB, folder=tmp_path
    )
    first = results["processes"][0]
    assert not first["moments"][-1]["said"]
    assert results["verdict"]["cause"] == "other"
    assert "From outside these cannot be told apart." in results["verdict"]["sentences"]


def test_the_command_s_own_status_is_passed_on(tmp_path):
    done = reap("rss", "--interval", "0.02", "-o", tmp_path / "rows", "--", "sh", "-c", "sleep 0.3; exit 7")
    assert done.returncode == 7
    assert done.stdout == ""


def test_of_many_processes_the_largest_is_told(tmp_path):
    """It became another program; and what comes next is the command, and not the process."""
    script = f"sleep 0.5 & exec {target('resides')} live"
    results, said = held_open("sh", "-c", script, until=part("live", 60 * MB), folder=tmp_path)
    assert [each["command"][0] for each in results["processes"]] == [target("resides"), "sleep"]
    assert "also: process " in said
    assert said.splitlines()[-1].startswith("next: reap record -- sh -c ")


def test_a_running_process_is_looked_at_from_outside(tmp_path):
    with subprocess.Popen([target("resides"), "live"], stdin=subprocess.PIPE) as process:
        wait_for(lambda: smaps.read(process.pid).heap > 60 * MB)
        done = reap("rss", "--pid", str(process.pid), "--seconds", "0.2", "-o", tmp_path / "rows")
        process.stdin.close()
    assert done.returncode == 0
    assert "are live: the program allocated them and has not freed them" in " ".join(done.stdout.split())
    assert f"next: reap record --pid {process.pid}" in done.stderr
    assert all(row["live"] > 60 * MB for row in read_rows(tmp_path / "rows"))


def test_ctrl_c_ends_the_watching_and_not_the_answer(tmp_path):
    rows = tmp_path / "rows"
    with subprocess.Popen(["sleep", "100"]) as process:
        watching = subprocess.Popen(
            [*reap_command(), "rss", "--pid", str(process.pid), "-o", rows], stdout=subprocess.PIPE, text=True
        )
        wait_for(lambda: rows.exists() and len(read_rows(rows)) > 1)
        watching.send_signal(signal.SIGINT)
        out, _ = watching.communicate(timeout=60)
        process.kill()
    assert watching.returncode == 0
    assert "you stopped the watching" in out


def refusal(pid):
    with pytest.raises(ReapError) as raised:
        smaps.require_readable(pid)
    return f"{raised.value.what}; {raised.value.hint}"


def test_a_process_that_ended_is_told_so(tmp_path):
    with subprocess.Popen(["true"]) as process:
        wait_for(lambda: (smaps.PROC / str(process.pid) / "smaps").read_text() == "")
        assert "it has ended, or never was" in refusal(process.pid), "a zombie"
    assert "it has ended, or never was" in refusal(process.pid)
    done = reap("rss", "--pid", str(process.pid), cwd=tmp_path)
    assert done.returncode == ExitCode.NOT_FOUND
    assert list(tmp_path.iterdir()) == [], "no file of nothing"


MAPPINGS = """
import mmap, time
kept = [mmap.mmap(-1, 4096) for _ in range(2000)]
for each in kept: each[0] = 1
print("made", flush=True)
time.sleep(0.03)
"""


def test_mappings_are_seen_whole_or_not_at_all():
    """A process that ends while they are read cuts them short, and what comes last is its stack."""
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", MAPPINGS], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            with contextlib.suppress(smaps.EndedError):
                while True:
                    assert "[stack]" in smaps.mappings(process.pid)


def test_a_restarted_program_is_another(tmp_path):
    """One that becomes another program keeps its number."""
    process = subprocess.Popen(["sh", "-c", "read line; exec sleep 0.2"], stdin=subprocess.PIPE)
    rows = tmp_path / "rows"
    with (
        process,
        subprocess.Popen(
            [*reap_command(), "rss", "--pid", str(process.pid), "-o", rows], stdout=subprocess.PIPE, text=True
        ) as watching,
    ):
        wait_for(lambda: rows.exists() and len(read_rows(rows)) > 1)
        process.stdin.close()
        out, _ = watching.communicate(timeout=60)
    assert "became another program: " in out


@pytest.mark.skipif(os.geteuid() != 0, reason="root's processes are to be looked at by others")
def test_somebody_else_s_process_is_refused():
    assert "it belongs to another user" in as_nobody(lambda: refusal(os.getppid()))


@pytest.mark.skipif(os.geteuid() != 0, reason="the test runs as nobody anyway")
def test_nobody_may_look_at_what_is_theirs():
    assert as_nobody(lambda: str(smaps.read(os.getpid()).resident > MB)) == "True"


def test_where_proc_is_hidden_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(smaps, "PROC", tmp_path)
    assert "does not show smaps" in refusal(1)
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "smaps").touch()
    assert "hidepid" in refusal(os.getpid())


def test_a_thread_of_the_kernel_has_no_memory(tmp_path, monkeypatch):
    """This machine's own where it is shown; no container shows any."""
    stat = smaps.PROC / "2" / "stat"
    shown = stat.exists() and "kthreadd" in stat.read_text()
    if not shown or os.geteuid() != 0:
        monkeypatch.setattr(smaps, "PROC", tmp_path)
        for shown_by_proc in ("self", "2"):
            (tmp_path / shown_by_proc).mkdir()
            (tmp_path / shown_by_proc / "smaps").touch()
        (tmp_path / "2" / "stat").write_text("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20")
    assert "a thread of the kernel" in refusal(2)


def test_a_file_that_cannot_be_written_is_told_before(tmp_path):
    for place, said in (("/dev/full", "No space left"), (tmp_path / "no" / "where", "No such file")):
        done = reap("rss", "--force", "-o", place, "--", "sleep", "0.1")
        assert done.returncode == ExitCode.INTERNAL
        assert done.stderr.startswith(f"reap: {place} could not be written: {said}")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["--pid", "0"], ["--", "no-such-program"], ["-a", "none", "--", "true"]])
def test_what_cannot_be_looked_at_replaces_no_file(words, tmp_path):
    earlier = tmp_path / "rows"
    earlier.write_text("an hour's looks")
    assert reap("rss", "--force", "-o", earlier, *words).returncode != 0
    assert earlier.read_text() == "an hour's looks"


def test_a_file_that_others_could_read_is_private_when_it_is_replaced(tmp_path):
    path = tmp_path / "rows"
    path.touch(0o644)
    with rows(path, force=True):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_disk_that_fills_up_loses_no_more_than_the_rows():
    class Full(io.StringIO):
        def flush(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    log = Log(0.1, Full())
    kernel = smaps.read(os.getpid())
    for at in range(3):
        log.add(Moment(pid=7, seconds=at, kernel=kernel))
    assert log.residence(7).taken == 3
    assert log.residence(7).notes == ["the file of all snapshots ends early: No space left on device"]


def test_no_device_is_removed(monkeypatch):
    """One that nothing was written to looks as if nothing had come to be seen."""
    removed = []
    monkeypatch.setattr(Path, "unlink", lambda path, **_: removed.append(path))
    with rows(Path("/dev/null"), force=True):
        pass
    assert removed == []


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--pid", "1", "--", "true"],
        ["--seconds", "1", "--", "true"],
        ["--interval", "0.0001", "--", "true"],
    ],
)
def test_what_cannot_be_meant_is_refused(words, tmp_path):
    done = reap("rss", *words, cwd=tmp_path)
    assert done.returncode in {ExitCode.USAGE, ExitCode.INTERNAL}
    assert done.stderr.startswith("reap: ")
    assert "Traceback" not in done.stderr
