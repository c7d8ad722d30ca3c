"""Runs what builds an allocator: logged, ended with all that it started, holding the store's lock."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path


class Runner:
    """Runs one program after another and keeps what they say in one log."""

    def __init__(self, log: Path, lock: int | None = None) -> None:
        self.log = log
        self._held = () if lock is None else (lock,)

    def run(
        self, command: list[str], *, cwd: Path, environment: Mapping[str, str], seconds: float
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs a program to its end. Standard output is returned, standard error is logged.

        It leads a session of its own, so that a Ctrl-C comes to us alone and we end all of it.
        One that takes longer than `seconds` is ended and has -SIGKILL for a return code. Throws OSError.
        """
        with self.log.open("ab") as log:
            child = subprocess.Popen(
                command,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                pass_fds=self._held,
                start_new_session=True,
            )
            try:
                said, _ = child.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                log.write(b"no end after %d s\n" % seconds)
                said = b""
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
        return subprocess.CompletedProcess(command, child.returncode, said)

    def tail(self, lines: int) -> str:
        """The end of the log, indented."""
        return "\n".join(f"  {line}" for line in self.log.read_text(errors="replace").splitlines()[-lines:])
