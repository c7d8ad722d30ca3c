"""Job control: a shell sees the stops of the program in `reap`, which it has started."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from programs import reap_command


def quoted(words):
    return " ".join(f"'{word}'" for word in words)


class Shell:
    """An interactive bash in a terminal of its own, in which `reap` is called `measured`."""

    def __init__(self, folder):
        words = f"{Path(sys.executable).with_name('reap')} record -f -o {folder}/x.reap --"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads: it executes at once
            self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.execv("/bin/bash", ["bash", "--norc", "--noprofile", "--noediting"])  # noqa: S606
        self.says(f"alias measured='{words}'; PS1='ask'_'me '", "ask_me ")

    def says(self, line, *patterns, key=False):
        """Types a line, or a key, and waits for each of the patterns in turn."""
        os.write(self._terminal, line.encode() + (b"" if key else b"\n"))
        self.waits(*patterns)

    def waits(self, *patterns):
        seen, until = "", time.monotonic() + 30
        for pattern in patterns:
            while not (found := re.search(pattern, seen)):
                assert time.monotonic() < until, (pattern, seen)
                if select.select([self._terminal], [], [], 1)[0]:
                    seen += os.read(self._terminal, 1000).decode(errors="replace")
            seen = seen[found.end() :]

    def close(self):
        os.kill(self._pid, signal.SIGKILL)
        os.close(self._terminal)
        os.waitpid(self._pid, 0)


@pytest.fixture
def shell(tmp_path):
    found = Shell(tmp_path)
    yield found
    found.close()


def test_a_program_that_stops_itself_is_seen_to_stop_and_goes_on(shell):
    shell.says("measured sh -c 'kill -STOP $$; echo went o''n'", "Stopped", "ask_me ")
    shell.says("fg", "went on", "ask_me ")


def test_ctrl_z_stops_the_program_and_fg_resumes_it(shell):
    shell.says("measured sh -c 'echo beg''un; read x; echo got $x'", "begun")
    shell.says("\x1a", "Stopped", "ask_me ", key=True)
    shell.says("fg", "read x")
    shell.says("word", "got word", "ask_me ")


def test_a_program_that_ignores_ctrl_z_keeps_the_terminal(shell):
    shell.says("measured sh -c 'trap \"\" TSTP; echo beg''un; read x; echo got $x'", "begun")
    shell.says("\x1a", key=True)
    shell.says("word", "got word", "ask_me ")


def test_a_program_in_the_background_that_reads_is_stopped(shell):
    shell.says("measured sh -c 'read x; echo got $x' &", "ask_me ")
    shell.says("sleep 3", "Stopped", "ask_me ")
    shell.says("fg", "read x")
    shell.says("word", "got word", "ask_me ")


def test_a_stopped_program_that_is_killed_is_seen_to_end(shell):
    shell.says("measured sh -c 'kill -STOP $$'", "Stopped", "ask_me ")
    shell.says("pkill -KILL -g $(jobs -p %1) -x sh; sleep 2", "Exit 137|Killed", "ask_me ")


def test_a_program_that_stops_and_is_resumed_by_its_child_ends_by_itself(tmp_path):
    """Nobody with job control waits for it."""
    script = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; echo went on; exit 4"
    words = [*reap_command(), "record", "-o", str(tmp_path / "x.reap"), "--", "/bin/sh", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("went on\n", 4)


@pytest.mark.parametrize("verb", [["record", "-o", "x.reap"], ["rss", "-o", "x.csv"]])
def test_closed_standard_streams_stay_closed(tmp_path, verb):
    """Else one of our own files would be the program's standard output."""
    script = "exec 0<&- 1>&- 2>&-; exec " + quoted([*reap_command(), *verb, "--"])
    looks = 'import os, sys; print(os.listdir("/proc/self/fd"), file=open(sys.argv[1], "w")); os._exit(3)'
    words = ["/bin/sh", "-c", f'{script} "$@"', "sh", "/usr/bin/python3", "-c", looks, str(tmp_path / "seen")]
    done = subprocess.run(words, cwd=tmp_path, check=False, timeout=60)
    bare = ["/bin/sh", "-c", 'exec 0<&- 1>&- 2>&-; exec "$@"', "sh", *words[4:-1], str(tmp_path / "alone")]
    alone = subprocess.run(bare, check=False)
    assert (done.returncode, alone.returncode) == (3, 3)
    assert (tmp_path / "seen").read_text() == (tmp_path / "alone").read_text()


def test_without_a_current_directory_it_is_said(tmp_path):
    words = quoted(reap_command())
    script = f"mkdir gone; cd gone; rmdir ../gone; exec {words} record -o {tmp_path}/x.reap -- true"
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 125
    assert "the current directory does not exist any more" in done.stderr
    assert "Traceback" not in done.stderr
