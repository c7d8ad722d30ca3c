"""The launcher: what it reports, what it passes on, and that it ends what it began."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab.test.spawn.untouched import UNTOUCHED
from programs import ends, library, program

from reap.base.errors import ExitCode, ReapError
from reap.launch import native_files, spawn
from reap.launch.records import Launch

pytestmark = pytest.mark.bare

EMPTY = "99aa06d3014798d86001c324468d497f"
"""XXH3-128 of nothing, as its authors publish it."""


GUARD = str(native_files.preload("exec"))
"""What keeps preloads out of programs that they would break."""


def run(*argv, **options):
    return spawn.run(Launch(argv=list(argv), program=argv[0], **options))


def shell(script, **options):
    return run("/bin/sh", "-c", script, **options)


def marked_sleep(seconds=100):
    """A sleep that no other test has, to look for in the process list."""
    marked_sleep.count = getattr(marked_sleep, "count", 0) + 1
    return f"sleep {seconds}.{os.getpid()}{marked_sleep.count:03d}"


def test_exit_code_and_empty_output():
    outcome = shell("exit 3")
    assert (outcome.exit_code, outcome.signal, outcome.status) == (3, 0, 3)
    assert (outcome.stdout_bytes, outcome.stdout_digest, outcome.stderr_tail) == (0, EMPTY, "")


def test_death_by_signal():
    outcome = shell("kill -SEGV $$")
    assert (outcome.signal, outcome.status) == (signal.SIGSEGV, 139)
    assert not outcome.timed_out


def test_output_is_counted_and_hashed():
    one, same, other = shell("seq 100000"), shell("seq 100000"), shell("seq 100000 | tr 7 8")
    assert one.stdout_bytes == same.stdout_bytes == other.stdout_bytes == 588895
    assert one.stdout_digest == same.stdout_digest != other.stdout_digest


def test_the_streams_are_told_apart():
    outcome = shell("echo out; echo error >&2")
    assert outcome.stderr_tail == "error\n"
    assert outcome.stdout_digest == shell("echo out").stdout_digest != outcome.stderr_digest


def test_the_tail_is_the_last_of_standard_error():
    outcome = shell("seq 10000 >&2")
    whole = "".join(f"{number}\n" for number in range(1, 10001))
    assert outcome.stderr_tail == whole[-2048:]
    assert outcome.stderr_bytes == len(whole)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.one_of(st.binary(max_size=300), st.text(max_size=100).map(lambda text: text.encode())))
def test_any_bytes_make_a_tail(tmp_path, data):
    (tmp_path / "data").write_bytes(data)
    tail = run("/bin/cat", stdin=str(tmp_path / "data")), shell(f"cat {tmp_path}/data >&2").stderr_tail
    try:
        assert tail[1] == data.decode()
    except UnicodeDecodeError:
        assert "\ufffd" in tail[1]
    assert tail[0].stdout_bytes == len(data)


def test_standard_input_is_a_file_or_nothing(tmp_path):
    (tmp_path / "input").write_bytes(b"words\n" * 1000)
    assert run("/bin/cat", stdin=str(tmp_path / "input")).stdout_bytes == 6000
    assert run("/bin/cat").stdout_bytes == 0


@pytest.mark.timed
def test_cpu_time_is_the_programs_own():
    outcome = run(program("spin"))
    assert 49e6 <= outcome.cpu_ns < 150e6
    assert outcome.wall_ns >= 49e6


@pytest.mark.timed
def test_waiting_is_wall_time_and_not_cpu_time():
    begun = time.monotonic_ns()
    outcome = run("/bin/sleep", "0.2")
    assert 200e6 <= outcome.wall_ns < time.monotonic_ns() - begun
    assert outcome.cpu_ns < 20e6
    assert outcome.voluntary_switches >= 1


def test_children_that_were_waited_for_count():
    assert shell(f"{program('spin')}; {program('spin')}").cpu_ns >= 98e6


@pytest.mark.parametrize("kind", ["peak", "peak_static"])
@pytest.mark.parametrize("size", [0, 20])
def test_peak_memory_is_within_1_mb_of_the_truth_whatever_our_own_size(kind, size):
    ballast = bytearray(b"x") * (200 << 20)
    outcome = run(program(kind), str(size))
    truth = int(outcome.stderr_tail)
    assert abs(outcome.peak_resident - truth) < 1 << 20
    assert len(ballast) == 200 << 20


def test_orphans_are_not_taken_for_the_program():
    outcome = shell(f"(sh -c '{program('spin')}; exit 7' &) ; sleep 0.3; exit 3")
    assert outcome.exit_code == 3
    assert outcome.wall_ns >= 300e6
    assert outcome.cpu_ns < 49e6


@pytest.mark.parametrize("capture", [True, False])
def test_orphans_are_adopted_as_they_would_be_without_us(capture):
    """Daemons wait for getppid() == 1."""
    alone = subprocess.run([program("orphan")], capture_output=True, text=True, check=True)
    flags = ["--capture"] if capture else []
    words = [native_files.spawner(), *flags, "--result-fd", "2", "--", program("orphan")]
    seen = subprocess.run(words, capture_output=True, text=True, check=True)
    if capture:
        assert (
            json.loads(seen.stderr)["stdout_digest"] == run("/bin/echo", alone.stdout.strip()).stdout_digest
        )
    else:
        assert seen.stdout == alone.stdout


@pytest.mark.timed
def test_timeout_ends_a_tree_that_does_not_want_to():
    sleep = marked_sleep()
    outcome = shell(f"trap '' TERM; setsid {sleep} & {sleep} & {sleep}; {sleep}", timeout=0.2)
    assert outcome.timed_out
    assert outcome.signal == signal.SIGKILL
    assert 1.1e9 < outcome.wall_ns < 60e9  # the sleeps are longer
    assert ends(sleep)


def test_timeout_ends_a_program_whose_main_has_ended():
    """It is a zombie to whoever looks at its first thread alone."""
    threads = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(30,)).start()"
    words = f"{threads}; ctypes.CDLL(None).syscall(60, 0)"  # exit, and not exit_group
    outcome = run("/usr/bin/python3", "-c", words, timeout=0.5, capture=False)
    assert outcome.timed_out
    assert outcome.wall_ns < 25e9


@pytest.mark.timed
def test_timeout_lets_a_program_end_by_itself():
    for seconds in (0.2, 2, 20):  # until it had time to set its trap
        trapped = "trap 'exit 5' TERM; sleep 100 & wait"
        outcome = shell(trapped, timeout=seconds, options=["--grace-ms", "100000"])
        if outcome.exit_code == 5:
            break
    assert (outcome.timed_out, outcome.exit_code) == (True, 5)
    assert outcome.wall_ns < 60e9


def test_timeout_without_capture():
    sleep = marked_sleep()
    outcome = shell(f"{sleep} & {sleep}", timeout=0.2, capture=False)
    assert outcome.timed_out
    assert ends(sleep)


@pytest.mark.timed
def test_a_gigabyte_of_output_takes_no_memory_and_little_time():
    command = [native_files.spawner(), "--capture", "--", "/bin/sh", "-c", "yes | head -c 1G"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        ended = peak = 0
        while not ended:
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, int(status.partition("VmHWM:")[2].split()[0]) if "VmHWM" in status else 0)
            time.sleep(0.01)
            ended, _, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = 0
        outcome = json.loads(process.stdout.read())
    assert outcome["stdout_bytes"] == 1 << 30
    assert 0 < peak < 4096
    assert usage.ru_utime + usage.ru_stime < 20, "with what `yes` and `head` take"


def test_a_child_that_outlives_the_program_does_not_hold_us_up():
    sleep = marked_sleep()
    outcome = shell(f"{sleep} & echo done")
    assert outcome.wall_ns < 20e9  # the child sleeps for a hundred seconds
    assert outcome.stdout_bytes == 5
    assert ends(sleep)


def test_late_output_of_a_child_is_counted():
    assert shell("(sleep 0.2; echo late) & echo now").stdout_bytes == 9


@pytest.mark.parametrize(
    ("path", "code"), [("/nonexistent/program", ExitCode.NOT_FOUND), ("/etc/passwd", ExitCode.NOT_EXECUTABLE)]
)
def test_a_program_that_cannot_be_executed_is_told_from_one_that_failed(path, code):
    with pytest.raises(ReapError, match="cannot be executed") as caught:
        run(path)
    assert caught.value.code == code


def test_environment_is_added_to_and_removed_from(monkeypatch):
    monkeypatch.setenv("REAP_TEST_GONE", "1")
    monkeypatch.setenv("REAP_TEST_KEPT", "kept")
    outcome = shell(
        'echo "$REAP_TEST_GONE/$REAP_TEST_KEPT/$REAP_TEST_NEW" >&2',
        environment={"REAP_TEST_NEW": "a=b c"},
        remove=["REAP_TEST_GONE"],
    )
    assert outcome.stderr_tail == "/kept/a=b c\n"


def test_preloads_come_before_the_allocator_and_that_before_the_users(monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", library("no_malloc"))
    outcome = shell('echo "$LD_PRELOAD" >&2', allocator=library("good"), preloads=[library("talks")])
    assert outcome.stderr_tail.split() == [
        ":".join([library("talks"), library("good"), GUARD, library("no_malloc")])
    ]


def test_a_preload_may_have_spaces_and_colons_in_its_path(tmp_path):
    odd = tmp_path / "a b:c"
    odd.mkdir()
    (odd / "lib good.so").write_bytes(Path(library("good")).read_bytes())
    outcome = run(program("busy"), allocator=str(odd / "lib good.so"), probe=True)
    assert outcome.malloc_provider.endswith("/lib_good.so")


def test_where_it_runs(tmp_path):
    assert shell("pwd >&2", directory=str(tmp_path)).stderr_tail == f"{tmp_path}\n"


def test_untouched_streams_are_those_of_the_caller():
    done = subprocess.run(
        [sys.executable, "-c", UNTOUCHED, "/bin/sh", "-c", "cat; echo error >&2; exit 4"],
        input="given\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("given\n", "error\n", 4)


@pytest.mark.parametrize("capture", [True, False])
def test_inherited_descriptors_reach_the_program(tmp_path, capture):
    words = f"{sys.executable} -c \"$0\" /bin/sh -c 'echo five >&5; ls /proc/self/fd'"
    script = f"exec 5> {tmp_path}/five; exec {words}"
    code = UNTOUCHED.replace("capture=False", f"capture={capture}")
    done = subprocess.run(["/bin/sh", "-c", script, code], capture_output=True, text=True, check=True)
    assert (tmp_path / "five").read_text() == "five\n"
    assert capture or done.stdout.split() == ["0", "1", "2", "3", "5"]  # 3 is the listing's own


def test_descriptors_that_reap_opens_itself_do_not_reach_the_program():
    """libdw keeps those of the files that it has read symbols from: a second run would have had them."""
    opens = "import os; os.set_inheritable(os.open('/dev/null', os.O_RDONLY), True)\n"
    code = UNTOUCHED.replace("outcome =", f"{opens}outcome =")
    words = [sys.executable, "-c", code, "/bin/ls", "/proc/self/fd"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1", "2", "3"]  # 3 is the listing's own


def test_untouched_programs_stay_in_the_foreground_group():
    command = [sys.executable, "-c", UNTOUCHED, program("echo_group")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        group = int(process.stdout.read().split()[0])
    assert group == process.pid


def test_captured_programs_have_a_session_of_their_own():
    outcome = shell(f"{program('echo_group')} >&2; echo $$ >&2")
    group, session, pid = outcome.stderr_tail.split()
    assert group == session == pid


@pytest.mark.parametrize("capture", ["True", "False"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_the_launcher_reach_the_program(tmp_path, capture, number):
    flags = ["--capture"] if capture == "True" else []
    trap = f"trap 'echo caught > {tmp_path}/trace; exit 9' INT TERM"
    script = f"{trap}; touch {tmp_path}/ready; while :; do sleep 0.02; done"
    command = [native_files.spawner(), *flags, "--result-fd", "1", "--", "/bin/sh", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        wait_for(tmp_path / "ready")
        process.send_signal(number)
        outcome = json.loads(process.stdout.read())
    assert outcome["exit_code"] == 9
    assert (tmp_path / "trace").exists()


def test_an_interrupted_caller_ends_the_program(tmp_path):
    sleep = marked_sleep()
    code = UNTOUCHED.replace("capture=False", "capture=True")
    command = [sys.executable, "-c", code, "/bin/sh", "-c", f"touch {tmp_path}/ready; {sleep}; {sleep}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        wait_for(tmp_path / "ready")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) != 0
    assert ends(sleep)


def test_an_interrupted_caller_ends_a_program_that_does_not_want_to(tmp_path):
    sleep = marked_sleep()
    code = UNTOUCHED.replace("capture=False", "capture=True")
    script = f"trap '' INT TERM; touch {tmp_path}/ready; {sleep}; {sleep}"
    with subprocess.Popen(
        [sys.executable, "-c", code, "/bin/sh", "-c", script], stderr=subprocess.DEVNULL
    ) as process:
        wait_for(tmp_path / "ready")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) != 0
    assert ends(sleep)


def test_a_program_with_the_terminal_decides_on_ctrl_c():
    """It sees Ctrl-C once, and we wait until it ends as it wants to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads: the child executes at once
        pid, terminal = pty.fork()
    if pid == 0:
        words = [sys.executable, "-c", UNTOUCHED, program("counts_interrupts")]
        os.execv(sys.executable, words)  # noqa: S606
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 100)
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):
        while os.read(terminal, 100):
            pass
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 1), (signal.SIGTERM, 40)])
def test_a_program_with_our_streams_gets_what_is_sent_to_us(number, code):
    words = [sys.executable, "-c", UNTOUCHED, program("counts_interrupts")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(60) == code


@pytest.mark.parametrize("capture", [True, False])
def test_a_caller_that_is_killed_leaves_nothing_behind(tmp_path, capture):
    sleep = marked_sleep()
    code = UNTOUCHED.replace("capture=False", f"capture={capture}")
    script = f"trap '' TERM; touch {tmp_path}/ready; {sleep}; {sleep}"
    with subprocess.Popen([sys.executable, "-c", code, "/bin/sh", "-c", script]) as process:
        wait_for(tmp_path / "ready")
        process.kill()
    assert ends(sleep)


def test_a_launcher_that_is_killed_takes_a_captured_program_with_it(tmp_path):
    sleep = marked_sleep()
    script = f"touch {tmp_path}/ready; exec {sleep}"
    command = [native_files.spawner(), "--capture", "--", "/bin/sh", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        wait_for(tmp_path / "ready")
        process.kill()
    assert ends(sleep)


def test_the_wrong_command_line_is_refused():
    for words in (["--capture"], ["--nonsense", "--", "true"], ["--timeout-ms", "x", "--", "true"], []):
        done = subprocess.run([native_files.spawner(), *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "usage:" in done.stderr


def test_the_launcher_says_whether_sampling_works():
    done = subprocess.run([native_files.spawner(), "--check-sampling"], capture_output=True, check=True)
    seen = json.loads(done.stdout)
    assert seen.keys() == {"samples", "kernel", "errno"}
    assert (seen["samples"] > 0) or seen["errno"]


def wait_for(path, seconds=60):
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.01)


AGE = """
import os, time
def age():
    began = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began
b = b"x" * 200_000_000
time.sleep(0.1)
b = b[:20_000_000]
time.sleep(1 + 2 * age())
"""


@pytest.mark.timed
def test_resident_memory_is_looked_at_over_the_programs_time():
    """Most of it is in the first part of the time, which is less than half of it on any machine."""
    outcome = run(sys.executable, "-c", AGE, resident=True)
    assert outcome.settled_resident is not None
    assert outcome.mean_resident is not None
    assert 20e6 < outcome.settled_resident < 60e6
    assert outcome.settled_resident < outcome.mean_resident < outcome.peak_resident
    plain = run("/bin/true")
    assert plain.settled_resident is plain.mean_resident is None


@pytest.mark.timed
def test_memory_that_processes_share_counts_once():
    script = """
import os, time
held = bytearray(b"x" * 60_000_000)
for _ in range(4):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
time.sleep(1)
for _ in range(4): os.wait()
"""
    outcome = run(sys.executable, "-c", script, resident=True)
    assert outcome.settled_resident is not None
    assert 55e6 < outcome.settled_resident < 120e6  # resident memory of the five adds up to 350 MB


@pytest.mark.timed
def test_looking_at_many_processes_takes_little_of_the_time(tmp_path):
    script = "i=0; while [ $i -lt 300 ]; do sleep 1 & i=$((i+1)); done; wait"
    command = [
        native_files.spawner(),
        "--resident",
        str(tmp_path / "samples"),
        "--capture",
        "--result-fd",
        "1",
        "--",
        "/bin/sh",
        "-c",
        script,
    ]
    launcher = subprocess.Popen(command, stdout=subprocess.PIPE)
    with launcher.stdout:
        said = json.loads(launcher.stdout.read())
    _, _, usage = os.wait4(launcher.pid, 0)  # with the program's own, which it has waited for
    launcher.returncode = 0
    own = usage.ru_utime + usage.ru_stime - (said["user_ns"] + said["system_ns"]) * 1e-9
    assert (tmp_path / "samples").read_text()
    assert own < 0.2 * said["wall_ns"] * 1e-9  # two fifths where they are looked at all the time
