"""Groups of processes that are frozen: nothing of them runs, they know nothing of it, and nothing stays."""

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import as_nobody, ends

from reap.launch import freezer

pytestmark = pytest.mark.skipif(freezer.here() is None, reason="no cgroup with a freezer can be made here")

COUNTS = "import sys, time\nwhile True: print(flush=True); time.sleep(0.001)"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {COUNTS!r}])"


@pytest.fixture
def hierarchy() -> freezer.Hierarchy:
    found = freezer.here()
    assert found is not None
    return found


def groups_of(hierarchy: freezer.Hierarchy, mark: str) -> list[Path]:
    return list(Path(hierarchy.folder).glob(f"reap-{mark}-*"))


def grows(file: Path, seconds: float) -> bool:
    before = file.stat().st_size
    time.sleep(seconds)
    return file.stat().st_size > before


@pytest.mark.parametrize("script", [COUNTS, CHILD])
def test_what_is_frozen_does_not_run(
    script: str, tmp_path: Path, hierarchy: freezer.Hierarchy, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = f"test-{os.getpid()}"
    monkeypatch.setattr(secrets, "token_hex", lambda _: mark)
    with (
        (tmp_path / "file").open("w") as file,
        subprocess.Popen([sys.executable, "-c", script], stdout=file, start_new_session=True) as one,
    ):
        try:
            until_it_grows(tmp_path / "file")
            with freezer.groups(hierarchy, 1) as (group,):
                assert groups_of(hierarchy, mark)
                group.take(lambda: [one.pid, *children(one.pid)])
                group.stop()
                assert not grows(tmp_path / "file", 0.1)
                group.go_on()
                until_it_grows(tmp_path / "file")
                group.stop()
            until_it_grows(tmp_path / "file")  # whoever left it stopped
        finally:
            os.killpg(one.pid, signal.SIGKILL)
    assert not groups_of(hierarchy, mark)


def until_it_grows(file: Path) -> None:
    until = time.monotonic() + 20
    while not grows(file, 0.02):
        assert time.monotonic() < until


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_who_may_make_no_cgroup_is_not_refused() -> None:
    assert "may not be written" in as_nobody(lambda: str(freezer.search.__wrapped__()))


KILLED = """
import os, secrets, signal, subprocess, sys
from reap.launch import freezer
freezer.here()
secrets.token_hex = lambda _: sys.argv[2]
one = subprocess.Popen(["sh", "-c", sys.argv[1]])
with freezer.groups(freezer.here(), 2) as (group, _):
    group.take(lambda: [one.pid])
    group.stop()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_stays_frozen_when_we_are_killed(tmp_path: Path, hierarchy: freezer.Hierarchy) -> None:
    mark = f"killed-{os.getpid()}"
    script = f"sleep 0.{os.getpid()}27; echo over >{tmp_path}/over"
    killed = subprocess.run([sys.executable, "-c", KILLED, script, mark], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert ends(script)
    assert (tmp_path / "over").exists()
    until = time.monotonic() + 20
    while groups_of(hierarchy, mark):
        assert time.monotonic() < until
        time.sleep(0.02)
