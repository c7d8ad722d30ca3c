"""Waits for what a program does."""

import time


def wait_for(condition, seconds=60):
    """So long as the machine needs, however loaded it is."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.02)
