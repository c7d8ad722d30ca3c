"""Does a library that was just built serve a program with threads and children, and damage nothing?"""

import os
import signal
from importlib.resources import files
from pathlib import Path

from reap.allocators.process import Runner
from reap.allocators.records import Allocator
from reap.allocators.verify import judge
from reap.errors import ReapError

_SOURCE = Path(str(files("reap.allocators"))) / "smoke.c"

_PATIENCE = 120
"""Seconds; the program ends itself after 60, and usually in less than one."""


def problem(allocator: Allocator, work: Path, runner: Runner) -> str:
    """What is wrong with it, as a sentence; empty if nothing. Throws ReapError, OSError."""
    program = work / "smoke"
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TMPDIR": str(work)}
    compile_it = ["gcc", "-O1", "-fPIE", "-pie", "-pthread", str(_SOURCE), "-o", str(program)]
    if runner.run(compile_it, cwd=work, environment=environment, seconds=_PATIENCE).returncode != 0:
        raise ReapError(f"gcc cannot build a program of threads:\n{runner.tail(10)}", "mend what it names")
    preloaded = environment | {"LD_PRELOAD": allocator.library}
    done = runner.run([str(program)], cwd=work, environment=preloaded, seconds=_PATIENCE)
    if done.returncode == -signal.SIGALRM:
        return "a program of threads that allocate hangs under it"
    if done.returncode < 0:
        return f"a program of threads was ended by {signal.Signals(-done.returncode).name} under it"
    if done.returncode > 0:
        return f"a program of threads fails under it:\n{runner.tail(3)}"
    lines = (line.partition(" ") for line in done.stdout.decode(errors="replace").splitlines())
    return judge(allocator, {str(program): {function: file for function, _, file in lines}}).problem
