"""Runs a program under strace, which sees every request for memory of it and of its children.

It runs some slower for that, and what it takes of time and of resident memory is not to be looked at.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.launch import preloads, spawn
from reap.launch.records import Launch, Outcome

SPACE = (
    "brk", "mmap", "munmap", "mremap", "mprotect", "?pkey_mprotect",
    "execve", "?execveat", "?clone", "?clone3", "?fork", "?vfork",
)  # fmt: skip
"""What changes an address space, or makes one. A question mark: not on every machine."""


@contextmanager
def traced(
    launch: Launch, calls: Sequence[str] = SPACE, options: Sequence[str] = ()
) -> Iterator[tuple[Outcome, Iterator[str]]]:
    """The program's run, and what it called of `calls`, line by line as strace writes it.

    The lines are there as long as the context is. `options` are further ones of strace. Throws what
    `spawn.run` throws, and ReapError where there is no strace, or where it may trace nothing.
    """
    strace = shutil.which("strace")
    if strace is None:
        raise ReapError(
            "strace, which sees what a program asks of the system, is not installed",
            "sudo apt-get install --no-install-recommends strace",
            ExitCode.FAILED,
        )
    with tempfile.TemporaryDirectory(prefix="reap-strace-") as folder:
        file = Path(folder) / "calls"
        # Into the program alone: strace has its own malloc, and does not fail with an allocator that fails.
        variables = preloads.compose(launch, Path(folder))
        watched = msgspec.structs.replace(
            launch,
            program=strace,
            preloads=[],
            allocator="",
            argv=[
                "strace",
                *(word for name, value in variables.items() for word in ("-E", f"{name}={value}")),
                "--follow-forks",
                "--seccomp-bpf",  # all other calls are as fast as ever
                "--string-limit=0",
                *options,
                f"--output={file}",
                f"--trace={','.join(calls)}",
                "--",
                launch.program,
                *launch.argv[1:],
            ],
        )
        outcome = spawn.run(watched)
        if not _began(file):
            said = outcome.stderr_tail.strip().partition("\n")[0]
            raise ReapError(
                f"strace could not trace {launch.program}: {said or 'it said nothing'}",
                "allow it: in a container by --cap-add=SYS_PTRACE, else by kernel.yama.ptrace_scope below 3",
                ExitCode.FAILED,
            )
        with file.open(errors="replace") as lines:
            yield outcome, lines


def _began(file: Path) -> bool:
    """Whether the program was executed under its eyes."""
    try:
        with file.open(errors="replace") as lines:
            return any("execve(" in line and line.rstrip().endswith("= 0") for line in lines)
    except OSError:
        return False
