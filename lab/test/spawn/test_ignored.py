"""A program ignores the signals that reap was started to ignore, and no others."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lab.test.spawn.untouched import UNTOUCHED

REAP = Path(sys.executable).parent / "reap"
"""The command as it is installed: reap as a module does not know what Python ignores."""

IGNORED = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGQUIT, signal.SIGCHLD]


@pytest.mark.parametrize("capture", [True, False])
def test_ignored_signals_stay_ignored(capture):
    """As under nohup."""
    code = UNTOUCHED.replace("capture=False", f"capture={capture}")
    code = code.replace("sys.exit", "sys.stderr.write(outcome.stderr_tail); sys.exit")
    ignores = f"import os, signal, sys; [signal.signal(n, signal.SIG_IGN) for n in {[*map(int, IGNORED)]}]; "
    ignores += "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    looks = "import sys; print([n for n in open('/proc/self/status') if 'SigIgn' in n][0], file=sys.stderr)"
    words = [sys.executable, "-c", ignores, "-c", code, "/usr/bin/python3", "-c", looks]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    mask = int(done.stderr.split()[1], 16)
    assert [number for number in IGNORED if not mask >> (number - 1) & 1] == []
    assert done.returncode == 0


def ignored_of(*words):
    """What a program says that it ignores that is started from these words, with its own at the end."""
    looks = ["/bin/grep", "SigIgn", "/proc/self/status"]
    done = subprocess.run([*words, *looks], capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout.split()[1], 16)


@pytest.mark.parametrize("shell", ["bash", "dash"])
@pytest.mark.parametrize("trap", ["trap '' PIPE XFSZ; ", "trap '' PIPE; ", ""])
def test_what_python_ignores_itself_is_ignored_where_the_shell_says_so(shell, trap):
    words = [shell, "-c", f'{trap}"$@"; exit', shell]
    assert ignored_of(*words, sys.executable, "-c", UNTOUCHED) == ignored_of(*words)


@pytest.mark.parametrize("starts", ['"$@"; exit', 'exec "$@"'])
@pytest.mark.parametrize("trap", ["trap '' PIPE XFSZ; ", ""])
def test_the_command_was_told_what_python_ignores_itself(tmp_path, trap, starts):
    words = ["dash", "-c", trap + starts, "dash"]
    command = [REAP, "record", "-o", tmp_path / "recording", "--"]
    assert ignored_of(*words, *command) == ignored_of(*words)


def test_what_the_command_was_told_is_kept_from_the_program(tmp_path):
    command = [REAP, "record", "-o", tmp_path / "recording", "--", "/usr/bin/env"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "HOME=" in done.stdout
    assert "REAP_STARTED_IGNORING" not in done.stdout


def test_what_python_ignores_itself_is_not_where_its_parent_alone_ignores_it():
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN
    assert not ignored_of(sys.executable, "-c", UNTOUCHED) >> (signal.SIGPIPE - 1) & 1
