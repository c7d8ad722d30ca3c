"""Processes that are hard to watch from outside: in other namespaces, with short-lived children, ending."""

import os
import signal
import subprocess
import sys

import pytest
from lab.test.rss.test_owners import waiting

from reap.launch.process import smaps
from reap.rss import watch

FORKS = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("ready", flush=True)
signal.sigwait([signal.SIGUSR1])
for _ in range(int(sys.argv[1]) // 50):
    children = [os.fork() or os._exit(0) for _ in range(50)]
    for child in children:
        os.waitpid(child, 0)
"""
ENDS = "import os; print('ready', flush=True); os.read(0, 1)"


@pytest.mark.skipif(os.geteuid() != 0, reason="without root a container may forbid namespaces")
def test_a_process_in_other_namespaces_is_watched_from_outside():
    """Its number there is another, and the paths of its files may not exist here."""
    words = ["unshare", "--pid", "--mount", "--fork", "sh", "-c", "echo ready; read line"]
    if subprocess.run(["unshare", "--pid", "--mount", "true"], check=False, capture_output=True).returncode:
        pytest.skip("such a namespace may not be made here")
    moments = []
    with waiting(*words) as pid:
        (inside,) = smaps.children(pid)
        assert watch.watch(inside, 0.01, 0.2, moments.append) == ""
    assert {each.pid for each in moments} == {inside}
    assert all(each.kernel.resident > 0 and not each.coarse for each in moments)


def test_a_thousand_children_that_come_and_go_do_not_end_the_watching():
    moments = []
    with waiting(sys.executable, "-c", FORKS, "1000") as pid:

        def begin(moment):
            moments.append(moment)
            if len(moments) == 1:
                os.kill(pid, signal.SIGUSR1)

        ended = watch.watch(pid, 0.005, None, begin, below=True)
    assert ended == f"process {pid} ended"
    assert {each.pid for each in moments} >= {pid}


def test_a_process_that_ends_is_watched_until_then():
    moments = []
    with waiting(sys.executable, "-c", ENDS) as pid:

        def end(moment):
            moments.append(moment)
            if len(moments) == 3:
                os.kill(pid, signal.SIGKILL)

        assert watch.watch(pid, 0.01, None, end) == f"process {pid} ended"
    assert len(moments) >= 3
