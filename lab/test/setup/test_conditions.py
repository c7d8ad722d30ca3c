"""setup/repeat --under: each condition differs as it says, for its command alone."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import compile_c

SETUP = Path(__file__).resolve().parents[3] / "setup"


@pytest.fixture(scope="module")
def conditions():
    spec = importlib.util.spec_from_file_location("conditions", SETUP / "conditions" / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["conditions"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["conditions"]


@pytest.fixture
def under(conditions, tmp_path):
    """What a command prints under a condition; skips where this machine cannot make it."""

    def run(name, *words):
        try:
            with conditions.CONDITIONS[name].enter(tmp_path) as entry:
                environment = {**os.environ, **entry.environment}
                return subprocess.check_output([*entry.words, *words], env=environment, text=True).strip()
        except conditions.UnavailableError as reason:
            pytest.skip(str(reason))

    return run


def python(code):
    return [sys.executable, "-c", code]


def test_one_core(under):
    assert under("one-core", *python("import os; print(len(os.sched_getaffinity(0)))")) == "1"


def test_half_a_core(under):
    group = under("half-core", "cat", "/proc/self/cgroup")
    assert f"reap-half-core-{os.getpid()}" in group
    assert not list(Path("/sys/fs/cgroup").glob(f"**/reap-half-core-{os.getpid()}"))


def test_a_busy_core(under):
    children = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    before = Path(children).read_text().split()
    assert len(under("busy-core", "cat", children).split()) == len(before) + 2  # and cat
    assert Path(children).read_text().split() == before


SIGNALS = r"""
    #include <signal.h>
    #include <stdio.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <unistd.h>
    static uintptr_t outside, inside;
    static void on_signal(int number) { inside = (uintptr_t)__builtin_frame_address(0); (void)number; }
    int main(void) {
        struct sigaction action = {.sa_handler = on_signal}, old;
        outside = (uintptr_t)__builtin_frame_address(0);
        sigaction(SIGUSR1, &action, NULL);
        sigaction(SIGUSR1, NULL, &old);
        raise(SIGUSR1);
        const int same = old.sa_handler == on_signal;
        printf("%ld %ld %d\n", (long)(outside - inside), sysconf(_SC_MINSIGSTKSZ), same);
        return signal(SIGUSR1, SIG_DFL) != on_signal;
    }"""


def test_larger_signal_frames(under):
    program = compile_c("signal-frames", SIGNALS, ["-O1"])
    here = [int(word) for word in subprocess.check_output([program]).split()]
    there = [int(word) for word in under("signal-frame", program).split()]
    assert there[0] - here[0] > 12 << 10
    assert there[1] - here[1] == 12 << 10
    assert here[2] == there[2] == 1
    # Whatever the environment of a program is.
    assert int(under("signal-frame", "env", "-i", program).split()[0]) - here[0] > 12 << 10
    again = [int(word) for word in subprocess.check_output([program]).split()]
    assert again[1:] == here[1:]
    assert abs(again[0] - here[0]) < 64  # a frame is aligned, and stacks begin anywhere


def test_a_small_stack(under, conditions):
    assert int(under("small-stack", "sh", "-c", "ulimit -s")) == conditions.SMALL_STACK >> 10


def test_an_older_kernel(under):
    code = "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); print(libc.syscall(436, 99, 98, 0),"
    code += " ctypes.get_errno(), os.environ['REAP_PROBES'])"  # close_range of no range: EINVAL elsewhere
    assert under("older-kernel", *python(code)) == "-1 38 events"


def test_no_rights_to_perf_events(under):
    status = under("no-perfmon", "grep", "CapEff", "/proc/self/status")
    assert not int(status.split()[1], 16) & (1 << 38 | 1 << 39 | 1 << 21)


def test_elsewhere(under):
    code = "import locale, time; locale.setlocale(locale.LC_ALL, '')"
    code += "; print(f'{1.5:n}', time.localtime().tm_gmtoff)"
    assert under("elsewhere", *python(code)) == "1,5 20700"


def repeat(*words):
    command = [sys.executable, SETUP / "repeat", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_repeat_runs_tests_under_each_condition_that_is_named(tmp_path):
    test = tmp_path / "test_cores.py"
    test.write_text("import os\n\ndef test_it():\n    assert len(os.sched_getaffinity(0)) == 1\n")
    done = repeat("--under", "one-core", "--rootdir", str(tmp_path), str(test))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("under one-core: one core\n")
    assert "test_cores::test_it" in done.stdout


def test_repeat_knows_its_conditions():
    done = repeat("--under", "water", "test.py")
    assert done.returncode == 2
    assert "no condition is named water; there are one-core, " in done.stderr
