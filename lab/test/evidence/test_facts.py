"""What `reap wall` sees of programs that know the truth about themselves."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from causes import cause_program
from lab.test.evidence.measuring import TRACEPOINTS, measured, needs_perf
from marked import marks
from programs import as_nobody, compile_c, interrupted, linked_library, program, reap, reap_command
from recorded import target

from reap.base.errors import ExitCode, ReapError
from reap.evidence import notes
from reap.evidence import run as experiment
from reap.evidence.analyse import facts, strace
from reap.launch import program as programs
from reap.launch.host import sampling
from reap.launch.records import Launch, Outcome
from reap.recording import record, watch
from reap.recording.records import Point
from reap.wall import command

_TURNS = 10_000
"""Of the program whose heap shrinks and grows: half a second, so that a quick processor samples it enough."""
_VFORKS = r"""
    #include <time.h>
    #include <unistd.h>
    int main() {
        struct timespec time = {0, 300000000};
        if (vfork() == 0) { nanosleep(&time, NULL); _exit(0); }
        return 0;
    }"""


@pytest.fixture(scope="module")
def thrashing(tmp_path_factory):
    """A program whose heap shrinks and grows again, through the command."""
    folder = tmp_path_factory.mktemp("wall")
    words = ["wall", "--no-try", "-o", "seen", "--json", "x.json", "--", cause_program(), "brk"]
    done = reap(*words, str(_TURNS / 20_000), cwd=folder)
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads((folder / "x.json").read_text())["answers"]
    return folder, done, answer


def test_the_command_names_its_files_and_they_are_private(thrashing):
    folder, done, answer = thrashing
    seen = folder / "seen"
    assert stat.S_IMODE(seen.stat().st_mode) == 0o700
    for path in seen.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    for name in ("wall.html", "stacks.folded"):
        assert f"seen/{name}" in done.stderr
    assert "reap run -- " in done.stdout, "which tries it"
    for words in ("CPU time", "Page faults", "Verdict:"):
        assert words in done.stdout
    assert answer["diagnosis"]["headline"] == "inconclusive", "nothing was tried"
    assert {each["status"] for each in answer["diagnosis"]["findings"]} == {"not tried"}
    # Nothing loaded in the sampled run, whatever was done to the heap in it.
    assert b"libreap" not in (seen / "sampled.reap").read_bytes()


def test_allocations_are_counted_exactly(thrashing):
    _, _, answer = thrashing
    # 40 blocks a turn, and the C library's buffer for what is printed.
    assert answer["wall"]["counted"]["allocations"] == _TURNS * 40 + 1


@needs_perf
def test_the_allocator_and_its_faults_are_seen(thrashing):
    _, _, answer = thrashing
    wall = answer["wall"]
    assert wall["allocator"] == "glibc"
    assert wall["share"]["share"]["value"] > 0.3
    assert sum(wall["owners"].values()) == wall["share"]["samples"]
    assert wall["owners"]["allocator"] == wall["share"]["inside"]
    assert wall["faults"]["by_cause"]["allocator"] > 0.8 * wall["faults"]["samples"] > 0


@pytest.mark.tracing
@pytest.mark.skipif(not TRACEPOINTS, reason="tracefs is not mounted here, or not readable")
def test_system_calls_are_told_apart_by_who_makes_them(thrashing):
    brk = thrashing[2]["wall"]["calls"]["brk"]
    assert brk["by_allocator"] > _TURNS  # each turn grows the heap and shrinks it
    assert brk["by_others"] < 10  # the loader's


def test_an_existing_folder_is_not_overwritten(thrashing):
    folder, _, _ = thrashing
    done = reap("wall", "-o", "seen", "--", "true", cwd=folder)
    assert done.returncode == ExitCode.INTERNAL
    assert "seen exists already" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], ExitCode.USAGE, "name a command after --"),
        (["--pid", "1", "--", "true"], ExitCode.USAGE, "name a command after --"),
        (["--pid", "4194000"], ExitCode.NOT_FOUND, "there is no process 4194000"),
        (["--", "no-such-program"], ExitCode.NOT_FOUND, "no such command"),
        (["-o", "no/such", "--", "true"], ExitCode.INTERNAL, "cannot be created"),
    ],
)
def test_what_cannot_be_watched_gets_one_message(tmp_path, words, code, message):
    done = reap("wall", *words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.rglob("*") if path.name not in {"reap-runs", ".gitignore"}] == []


def test_force_takes_nothing_from_a_folder_but_its_own(tmp_path):
    kept, old = tmp_path / "perl.reap", tmp_path / "stdin"
    kept.write_text("a recording of somebody's")
    old.write_text("the input of an earlier time")
    done = reap("wall", "--no-try", "--force", "-o", str(tmp_path), "--", "true")
    assert done.returncode == 0, done.stderr
    assert kept.exists()
    assert not old.exists()


def test_the_exit_code_is_the_programs(tmp_path):
    done = reap("wall", "--no-try", "--", "sh", "-c", "exit 7", cwd=tmp_path)
    assert done.returncode == 7, done.stderr


@pytest.mark.timed
@needs_perf
def test_an_allocator_behind_a_link_has_its_share(tmp_path):
    words = [target("share"), "with", "20", "20000"]
    share = measured(tmp_path, *words, allocator=linked_library(tmp_path)).wall.share
    assert share.share.low > 0.02


@needs_perf
def test_a_static_program_is_sampled_and_not_counted(tmp_path):
    share = target("share", "-static")
    wall = measured(tmp_path, share, "with", "20", "10000").wall
    assert wall.counted is None
    assert "statically linked" in " ".join(wall.notes)
    assert wall.share.inside > 0.2 * wall.share.samples
    assert any(each.function.startswith("_int_") and each.owner == "allocator" for each in wall.hot)


@pytest.mark.timed
@needs_perf
def test_a_child_s_time_is_its_own_too(tmp_path):
    wall = measured(tmp_path, "/bin/sh", "-c", f"{target('share')} with 20 20000; exit 0").wall
    assert wall.share.inside > 0.2 * wall.share.samples


def test_without_perf_events_a_timer_samples_and_it_is_said(tmp_path, monkeypatch):
    refused = sampling.Sampling(samples=0, kernel=False, errno=13)
    monkeypatch.setattr(record.sampling, "check", lambda: refused)
    monkeypatch.setattr(watch, "_WATCHED", ["waits"])
    wall = measured(tmp_path, target("share"), "with", "20", "60000").wall
    assert wall.share.method == "timer"
    assert sum("perf events are refused" in note for note in wall.notes) == 1
    assert wall.owners["allocator"] > 0
    assert wall.waiting.polls > 0


@pytest.mark.timed
def test_a_parent_of_vfork_does_not_wait_for_the_disk(tmp_path):
    """The kernel lets it sleep uninterruptibly, as one that waits for the disk."""
    waiting = measured(tmp_path, compile_c("vforks", _VFORKS, [])).wall.waiting
    assert waiting.disk < 0.1
    assert waiting.other > 0.2


@pytest.mark.timed
def test_waiting_is_told_by_what_for(tmp_path):
    # The disk's is in no test that has to be quick: some file systems write at once.
    waiting = measured(tmp_path, cause_program(), "network", "0.3").wall.waiting
    assert waiting.network > 3 * max(waiting.disk, waiting.lock)


@pytest.mark.timed
def test_a_processor_that_others_have_is_nothing_that_a_program_waits_for(tmp_path):
    """Two on one processor: this one computes while its child waits for a connection."""
    one = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]
    with subprocess.Popen([*one, sys.executable, "-c", "while True: pass"]) as busy:
        seen = measured(tmp_path, *one, cause_program(), "network", "0.5", "cured").wall
        busy.kill()
    assert seen.waiting.network > 0.5 * seen.wall_seconds
    assert seen.wall_seconds - seen.cpu_seconds > 0.2 * seen.wall_seconds, "it had half of the processor"
    assert seen.waiting.idle < 0.15 * seen.wall_seconds


@pytest.mark.timed
def test_free_memory_below_a_pin_is_seen(tmp_path, monkeypatch):
    looks, free = [], facts.free_in_heap
    monkeypatch.setattr(
        facts, "free_in_heap", lambda counted, live: looks.extend(counted.memory()) or free(counted, live)
    )
    resident = measured(tmp_path, cause_program(), "pin", "1").wall.resident
    assert 100 << 20 < resident.trimmable < resident.peak
    # The kernel tells of the heap twice where it grows while it is looked at.
    assert max(heap for _, _, _, heap, _ in looks) <= max(peak for _, _, peak, _, _ in looks)


COLLECTS = """
import gc, sys, own
for _ in range(25): gc.collect()
print(own.WORD)
"""


def test_cpython_s_collections_are_counted_and_its_own_hook_stays(tmp_path, monkeypatch):
    own = "import sys, types\nsys.modules['own'] = types.ModuleType('own')\nsys.modules['own'].WORD = 1\n"
    (tmp_path / "sitecustomize.py").write_text(own)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = tmp_path / "seen"
    folder.mkdir()
    seen = measured(folder, sys.executable, "-c", COLLECTS)
    assert seen.status == 0  # `own` was there in every run
    (collector,) = seen.wall.collections
    assert collector.kind == "cpython"
    assert 25 <= collector.count < 60
    assert 0 < collector.pause_seconds < seen.wall.wall_seconds


def test_what_strace_writes_is_told_apart_by_what_was_asked_for():
    lines = """\
10 execve("./x", ...) = 0
10 brk(NULL)                          = 0x5000
10 brk(0x26000)                       = 0x26000
10 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7000000
10 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, 3, 0) = 0x8000000
10 munmap(0x7000000, 8192)            = 0
10 munmap(0x8000000, 8192)            = 0
10 accept4(3, ...)                    = 4
10 accept4(3, ...)                    = -1 EAGAIN (Resource temporarily unavailable)
10 recvfrom(4, ...)                   = 12
10 futex(0x1, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
10 <... futex resumed>)               = 0
""".splitlines()
    counted, connections, reads = strace.calls(lines)
    held = {name: (count.by_allocator, count.by_others) for name, count in counted.items() if count.total}
    assert held == {"brk": (1, 1), "mmap": (1, 1), "munmap": (1, 1), "futex": (0, 1)}
    assert (connections, reads) == (1, 1)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_strace_counts_where_tracepoints_do_not(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment.facts, "calls", lambda _: None)
    found = programs.resolve([cause_program(), "brk", "0.02"])
    launch = Launch(argv=found.command, program=found.path)
    wall = experiment.measure(launch, found, tmp_path, lambda _: None, by_strace=True).wall
    assert wall.calls["brk"].by_allocator > 400
    assert any("with strace" in note for note in wall.notes)


def test_marked_requests_are_counted_exactly(tmp_path):
    # The request numbered i allocates i % 4 + 1 blocks.
    asked = measured(tmp_path, marks(), "plain", "400").wall.requests
    assert (asked.unit, asked.count, asked.per_request) == ("mark", 400, 2.5)


SERVES = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def ask():
    for _ in range(30):
        with socket.create_connection(server.getsockname()) as client: client.sendall(b"x"), client.recv(1)
thread = threading.Thread(target=ask); thread.start()
for _ in range(30):
    connection, _ = server.accept()
    with connection: connection.recv(1), connection.sendall(b"y")
thread.join()
"""


@pytest.mark.tracing
@pytest.mark.skipif(not TRACEPOINTS, reason="tracefs is not mounted here, or not readable")
def test_without_marks_connections_are_the_requests(tmp_path):
    asked = measured(tmp_path, sys.executable, "-c", SERVES).wall.requests
    assert (asked.unit, asked.count) == ("connection", 30)
    assert asked.per_request == asked.allocations / 30


def test_an_unprivileged_user_can_watch():
    if as_nobody(lambda: str(os.access(sys.executable, os.X_OK))) != "True":
        pytest.skip("an unprivileged user may not enter this checkout's folder")
    busy = program("busy")
    theirs = Path(busy).parent / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)

    def action():
        words = [*reap_command(), "wall", "--no-try", "-o", f"{theirs}/seen", "--", busy]
        done = subprocess.run(
            words, cwd="/", capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        return f"{done.stdout[-3000:]}{done.stderr[-3000:]}\n{done.returncode}"

    said = as_nobody(action)
    assert said.endswith("\n0"), said
    assert "Traceback" not in said


def test_memory_is_judged_by_the_second_half_of_the_run():
    """A program that frees all it has at its very end was no heap of free memory."""
    looks = [(at, 1, 100, 80, 50) for at in (1.0, 2.0, 5.0, 6.0, 7.0, 8.0)]
    looks.append((9.0, 1, 100, 80, 0))
    watched = SimpleNamespace(memory=lambda: looks, resident=lambda: [(at, 90) for at, *_ in looks])
    live = [Point(seconds=0.5, bytes=70.0), Point(seconds=8.5, bytes=0.0)]
    assert facts.free_in_heap(watched, live) == 10
    held = facts.resident(watched, peak=100)
    assert (held.late, held.lazy_free) == (90, 50)
    assert facts.resident(watched, peak=7).peak == 100
    nothing = SimpleNamespace(memory=list, resident=list)
    assert facts.free_in_heap(nothing, live) is None
    assert facts.resident(nothing, peak=7).lazy_free is None


def test_no_memory_at_the_end_is_above_the_peak():
    """The kernel's maximum of a process is some pages behind, and is that of one process."""
    watched = SimpleNamespace(memory=lambda: [(1.0, 1, 100, 80, None)], resident=lambda: [(1.0, 110)])
    held = facts.resident(watched, peak=100)
    assert (held.peak, held.end) == (110, 110)


def test_an_interrupt_ends_the_first_run_and_the_verdict_is_on_what_was_seen(tmp_path):
    words = ["-o", "x", "--", "sh", "-c", "touch begun; sleep 60"]
    printed, _ = interrupted("wall", *words, folder=tmp_path)
    assert "nothing was tried" in " ".join(printed.split())
    (answer,) = json.loads((tmp_path / "x" / "wall.json").read_text())["answers"]
    assert answer["wall"]["unfinished"]
    assert any("Ctrl-C ended it" in note for note in answer["wall"]["notes"])


def test_an_interrupt_before_anything_is_seen_leaves_nothing(tmp_path):
    def interrupted(place: Path, *written: str) -> None:
        with command.folder(place, ("sleep", "9"), None, force=True):
            for name in written:
                (place / name).touch()
            raise KeyboardInterrupt

    with pytest.raises(ReapError, match="stopped before anything was seen"):
        interrupted(tmp_path / "x")
    assert not (tmp_path / "x").exists()
    with pytest.raises(ReapError, match="what was seen until then is in"):
        interrupted(tmp_path / "x", experiment.COUNTED)
    assert (tmp_path / "x" / experiment.COUNTED).exists()


def test_a_program_that_a_signal_ended_is_told_of():
    launch = Launch(argv=["x"], program="/x")
    (note,) = notes.of_watching(launch, Outcome(exit_code=0, signal=6))
    assert "SIGABRT" in note
    assert notes.of_watching(launch, Outcome(exit_code=3)) == []
