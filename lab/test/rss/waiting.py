"""Waits for what a program does, and programs that wait."""

import contextlib
import subprocess
import time


def wait_for(condition, seconds=60):
    """So long as the machine needs, however loaded it is."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.02)


@contextlib.contextmanager
def waiting(*words, folder=None):
    """A program that says "ready", and ends with its input."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process.pid
        finally:
            process.stdin.close()
            if process.poll() is None and "java" in words[0]:
                process.kill()
