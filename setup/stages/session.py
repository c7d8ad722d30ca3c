"""Ending a process with all that it started."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path


def kill(leader: "subprocess.Popen[bytes]") -> None:
    """Kill a session, its leader too. Process groups do not do: ninja gives each compiler its own."""
    while members := session(leader.pid):
        for member in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)


def session(leader: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, number = path.read_text().rpartition(")")[2].split()[:4]
            if int(number) == leader and state not in "ZX":
                found.append(int(path.parent.name))
    return found
