"""Does an allocator serve a program with threads, children and C++, and damage nothing?"""

import os
import shutil
import signal
from importlib.resources import files
from pathlib import Path

from reap.allocators.library import preloads
from reap.allocators.process import Runner
from reap.allocators.records import Allocator
from reap.allocators.verify import judge
from reap.base.errors import ReapError
from reap.base.records import Record

_FOLDER = Path(str(files("reap.allocators")))

_PATIENCE = 120
"""Seconds; the program ends itself after 60, and usually in less than one."""

PARTS = {
    "malloc": "malloc is replaced",
    "aligned": "aligned blocks",
    "threads": "threads and fork",
    "new": "C++ new",
}
"""What is checked, each by a program of its own, and its name in reports."""


class Checked(Record):
    """Result for one allocator."""

    allocator: str
    problems: dict[str, str]
    """By part, a sentence; empty where there is none."""
    notes: list[str] = []

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with it."""
        return not any(self.problems.values())


def problem(allocator: Allocator, work: Path, runner: Runner) -> str:
    """Fault of an allocator, as a sentence; empty if there is none. Throws ReapError, OSError."""
    program = _compiled("gcc", "smoke.c", work, runner)
    said, wrong = _run([str(program)], allocator, work, runner)
    return wrong or _provided(allocator, program, said)


def check(allocator: Allocator, work: Path, runner: Runner) -> Checked:
    """Each part by itself, so that one fault hides no other. Throws ReapError, OSError."""
    program = _compiled("gcc", "smoke.c", work, runner)
    said, wrong = _run([str(program), "malloc"], allocator, work, runner)
    problems = {"malloc": wrong or _provided(allocator, program, said)}
    for part in ("aligned", "threads"):
        _, problems[part] = _run([str(program), part], allocator, work, runner)
    notes = list(allocator.notes)
    if shutil.which("g++") is None:
        notes.append("C++ was not checked: g++ is not installed")
    else:
        cpp = _compiled("g++", "smoke_new.cpp", work, runner)
        said, problems["new"] = _run([str(cpp)], allocator, work, runner)
    return Checked(allocator=allocator.name, problems=problems, notes=notes)


def _compiled(compiler: str, source: str, work: Path, runner: Runner) -> Path:
    program = work / Path(source).stem
    if program.exists():
        return program
    if shutil.which(compiler) is None:
        raise ReapError(
            f"checking an allocator requires {compiler}, which is not installed",
            f"sudo apt-get install --no-install-recommends {compiler} libc6-dev",
        )
    words = [compiler, "-O1", "-fPIE", "-pie", "-pthread", str(_FOLDER / source), "-o", str(program)]
    if runner.run(words, cwd=work, environment=_environment(work), seconds=_PATIENCE).returncode != 0:
        raise ReapError(
            f"{compiler} cannot build a program with threads:\n{runner.tail(10)}", "fix what it names"
        )
    return program


def _environment(work: Path) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TMPDIR": str(work)}


def _run(command: list[str], allocator: Allocator, work: Path, runner: Runner) -> tuple[str, str]:
    """Output of the program, and what went wrong, as a sentence."""
    preload = {"LD_PRELOAD": ":".join(preloads(allocator.library))} if allocator.library else {}
    done = runner.run(command, cwd=work, environment=_environment(work) | preload, seconds=_PATIENCE)
    said = done.stdout.decode(errors="replace")
    if done.returncode == -signal.SIGALRM:
        return said, "a program hangs under it"
    if done.returncode < 0:
        return said, f"a program was ended by {signal.Signals(-done.returncode).name} under it"
    if done.returncode > 0:
        return said, f"a program fails under it: {runner.tail(1).strip().removeprefix('smoke: ')}"
    return said, ""


def _provided(allocator: Allocator, program: Path, said: str) -> str:
    lines = (line.partition(" ") for line in said.splitlines())
    return judge(allocator, {str(program): {function: file for function, _, file in lines}}).problem
