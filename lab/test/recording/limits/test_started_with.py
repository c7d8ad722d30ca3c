"""Processes are found by a variable that they were started with."""

import contextlib
import os
import subprocess
import time

from reap import native

NAME = f"REAP_TEST_{os.getpid()}"


def test_processes_are_found_by_name_and_value():
    with contextlib.ExitStack() as started:
        processes = []
        for value in ("1", "12", "1"):
            words = {
                "args": ["sleep", "60"],
                "env": {**os.environ, NAME: value, "REAP_TEST_OTHER": f"{NAME}=1"},
            }
            process = started.enter_context(subprocess.Popen(**words))
            started.callback(process.kill)
            processes.append(process.pid)
        wanted = [f"sleep (pid {processes[0]})", f"sleep (pid {processes[2]})"]
        until = time.monotonic() + 20
        while native.started_with(f"{NAME}=1") != wanted and time.monotonic() < until:
            time.sleep(0.01)  # until each is executed
        assert native.started_with(f"{NAME}=1") == wanted
    assert native.started_with(f"{NAME}=1") == []
