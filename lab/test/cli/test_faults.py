"""What a machine lacks is told in a sentence, if it is needed: no traceback, no hang, no lost result."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import NOBODY, program

REAP = Path(sys.executable).with_name("reap")
BUSY = program("busy")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="faults are made by root")

FAULTS = {
    "disk full": "mount -t tmpfs -o size=16k none here; dd if=/dev/zero of=here/x bs=4k 2>/dev/null;",
    "read-only": "mount -t tmpfs -o ro none here;",
    "no home": "unset HOME XDG_CACHE_HOME;",
    "noexec TMPDIR": "mount -t tmpfs -o noexec none here; export TMPDIR=$PWD/here;",
    "full TMPDIR": "mount -t tmpfs -o size=16k none here; export TMPDIR=$PWD/here;",
    "no tracefs": "mount -t tmpfs none /sys/kernel/tracing; mount -t tmpfs none /sys/kernel/debug;",
    "no /sys": "mount -t tmpfs none /sys;",
    "few files": "ulimit -n 32;",
    "no cgroup": "mount -t tmpfs none /sys/fs/cgroup;",
    "root of a user namespace": 'set -- unshare --user --map-root-user "$@";',
    "no capability": 'set -- setpriv --bounding-set=-all --inh-caps=-all "$@";',
}

NO_PLACE = ("disk full", "read-only", "full TMPDIR")
"""Where a result cannot be kept."""


@pytest.fixture(scope="module")
def other() -> Iterator[int]:
    """A process of another user that sleeps."""
    with subprocess.Popen(["sleep", "600"], user=NOBODY, group=NOBODY, extra_groups=[]) as process:
        try:
            time.sleep(0.1)
            yield process.pid
        finally:
            process.kill()


def done(fault: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The result of reap where something is missing."""
    (folder / "here").mkdir()
    script = f'{fault} exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", str(REAP), *words]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    ended = subprocess.run(command, cwd=folder, text=True, timeout=120, check=False, **pipes)
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "words",
    [
        ["record", "-o", "here/a.reap", "--", BUSY],
        ["rss", "-o", "here/a.csv", "--", BUSY],
        ["check", "--max-allocations", "1G", "--", BUSY],
    ],
    ids=lambda words: words[0],
)
def test_a_program_is_measured_or_it_is_said_why_not(tmp_path: Path, fault: str, words: list[str]) -> None:
    ended = done(FAULTS[fault], tmp_path, *words)
    if ended.returncode == 0:
        return
    assert (ended.returncode, fault in NO_PLACE) == (125, True), ended.stderr
    assert re.search("No space left on device|is not writable|Read-only file system", ended.stderr)


CAPABILITIES = ("sys_ptrace", "perfmon", "bpf", "sys_admin", "setuid", "setgid", "setpcap", "dac_override")


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_a_process_is_watched_without_each_capability(tmp_path: Path, capability: str) -> None:
    drop = f'set -- setpriv --bounding-set=-{capability} "$@";'
    with subprocess.Popen([sys.executable, "-c", "while True: bytearray(1000)"]) as process:
        words = ["record", "-o", "here/a.reap", "--pid", str(process.pid), "--seconds", "1"]
        try:
            ended = done(drop, tmp_path, *words)
        finally:
            process.kill()
    assert ended.returncode == 0 or "CAP_" in ended.stderr, ended.stderr
    assert (tmp_path / "here/a.reap").is_file() == (ended.returncode == 0)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["wall", "-o", "here/w"], 0, "Verdict"),
        (["rss", "-o", "here/a.csv"], 0, "resident memory"),
        (["record", "-o", "here/a.reap"], 126, "another user, and root here has no CAP_SYS_PTRACE"),
    ],
    ids=["wall", "rss", "record"],
)
def test_without_ptrace_another_users_process_is_no_traceback(
    tmp_path: Path, other: int, words: list[str], code: int, said: str
) -> None:
    """Root in a container of Docker has no CAP_SYS_PTRACE; `/proc/PID/cwd` was a traceback."""
    drop = 'set -- setpriv --bounding-set=-sys_ptrace "$@";'
    ended = done(drop, tmp_path, *words, "--pid", str(other), "--seconds", "1")
    assert ended.returncode == code, ended.stderr
    assert said in ended.stdout + ended.stderr
