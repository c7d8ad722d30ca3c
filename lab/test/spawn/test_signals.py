"""A program under the launcher gets each signal that it would get alone, and as often."""

import contextlib
import os
import signal
import subprocess

import pytest
from programs import compile_c, reap_command

COUNTS = r"""
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <time.h>
    #include <unistd.h>
    static volatile sig_atomic_t seen[65];
    static void count(int number) { seen[number]++; }
    int main(int words, char **word) {
        struct sigaction action = {0};
        action.sa_handler = count;
        for (int i = 1; i < 32; i++) sigaction(i, &action, 0);
        puts("ready");
        fflush(stdout);
        if (words > 2) kill(0, atoi(word[2]));
        struct timespec left = {1, 500000000};
        while (nanosleep(&left, &left) != 0) continue;
        for (int i = 1; i < 32; i++)
            if (seen[i]) printf("%d*%d ", i, seen[i]);
        return 7;
    }"""
SLOW = "trap 'sleep 2 & wait $!; echo cleaned; exit 5' TERM; echo ready; sleep 60 >/dev/null 2>&1 & wait"


def counter():
    return compile_c("counts_signals", COUNTS, ["-O1"])


@contextlib.contextmanager
def recorded(folder, *words):
    """`reap record` of a program, in a group of their own, once the program is ready."""
    options = [*reap_command(), "record", "-o", str(folder / "x.reap"), "--"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([*options, *words], start_new_session=True, **streams) as process:
        assert process.stdout.readline() == "ready\n"
        yield process


NUMBERS = [
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH),
]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_to_reap_reaches_the_program_once(tmp_path, number):
    with recorded(tmp_path, counter()) as process:
        process.send_signal(number)
        assert (process.stdout.read(), process.wait(60)) == (f"{int(number)}*1 ", 7)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_to_the_whole_group_reaches_the_program_once(tmp_path, number):
    """As timeout(1) and a terminal send them."""
    with recorded(tmp_path, counter()) as process:
        os.killpg(process.pid, number)
        assert (process.stdout.read(), process.wait(60)) == (f"{int(number)}*1 ", 7)


def test_a_program_that_signals_its_own_group_gets_that_once(tmp_path):
    with recorded(tmp_path, counter(), "group", str(int(signal.SIGTERM))) as process:
        assert (process.stdout.read(), process.wait(60)) == (f"{int(signal.SIGTERM)}*1 ", 7)


@pytest.mark.parametrize("group", [True, False])
def test_a_program_may_take_its_time_to_end_however_often_it_is_asked(tmp_path, group):
    with recorded(tmp_path, "/bin/sh", "-c", SLOW) as process:
        for _ in range(3):
            (os.killpg if group else os.kill)(process.pid, signal.SIGTERM)
        assert (process.stdout.read(), process.wait(60)) == ("cleaned\n", 5)


def test_a_program_under_timeout_may_take_its_time(tmp_path):
    words = ["timeout", "2", *reap_command(), "record", "-o", "x.reap", "--", "/bin/sh", "-c", SLOW]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("ready\ncleaned\n", 124)
