"""A parser's process where the machine gives it less than it asks for: no hang, and no right more."""

import errno
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.test.recording.names.builds import address_of, build
from lab.test.recording.names.refused import needs_confinement, needs_to_run, no_seccomp
from programs import NOBODY, as_nobody

from reap import native
from reap.allocators import elf

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="faults are made by root")

ASK = """
import sys
from reap import native
print(*native.confinement(), [frame[2] for frame in native.frames_at(sys.argv[1], int(sys.argv[2]))])
"""
"""Prints what a parser could give up, and the names that it finds."""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may look into."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def asked(folder: Path, *before: str) -> str:
    file = build(folder / "prog")
    words = [sys.executable, "-c", ASK, file, str(address_of(file, "read_body"))]
    return subprocess.check_output([*before, *words], text=True, timeout=60).strip()


def test_without_seccomp_it_is_nobody(tmp_path):
    needs_confinement()
    assert asked(tmp_path, no_seccomp()) == "True False ['read_body']"


def test_without_capabilities_root_stays_root_under_seccomp(tmp_path):
    """As in a container that drops CAP_SETUID."""
    needs_confinement(unprivileged=False)
    without = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    needs_to_run(*without)
    assert asked(tmp_path, *without) == "False True ['read_body']"


def test_a_user_namespace_without_nobody_is_no_hindrance(tmp_path):
    needs_confinement(unprivileged=False)
    inside = ("unshare", "--user", "--map-root-user")
    needs_to_run(*inside)
    assert asked(tmp_path, *inside) == "False True ['read_body']"


def test_nobody_stays_nobody(public):
    needs_confinement()
    ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    assert asked(public, "setpriv", *ids) == "True True ['read_body']"


def test_a_user_who_may_start_no_process_hears_why(public):
    needs_confinement(filtered=False)
    file = build(public / "prog")
    Path(file).chmod(0o775)
    address = address_of(file, "read_body")

    def ask() -> str:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        names = [frame[2] for frame in native.frames_at(file, address)]
        try:
            return f"{names} {elf.build_id(file)!r}"
        except elf.NotElfError as error:
            return f"{names} {error}"

    reason = os.strerror(errno.EAGAIN)
    assert as_nobody(ask) == f"[''] cannot be read: no process could be started to read it: {reason}"


HOLDER = """
import sys, time
from pathlib import Path
from reap import native
native.frames_at(sys.argv[1], 0x1000)
print(*(each.read_text() for each in Path("/proc/self/task").glob("*/children")), flush=True)
time.sleep(60)
"""


def test_no_parser_outlives_the_process_that_it_is_of(tmp_path):
    words = [sys.executable, "-c", HOLDER, build(tmp_path / "prog")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        parser = Path("/proc") / process.stdout.readline().split()[0]
        assert (parser / "comm").read_text() == "reap-sandbox\n"
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while parser.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not parser.exists() or (parser / "stat").read_text().split()[2] == "Z"
