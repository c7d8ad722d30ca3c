"""The launcher's private view for users who may not mount: in a user namespace of its own."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reap.launch import native_files

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder of nobody's; those of pytest are closed to others."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to become another user")
    if subprocess.run([*AS_NOBODY, "unshare", "-Um", "true"], check=False).returncode != 0:
        pytest.skip("this kernel permits no user namespaces to ordinary users")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(native_files.spawner(), folder / "spawn")
        for each in (folder, folder / "at", folder / "work"):
            each.mkdir(exist_ok=True)
            os.chown(each, NOBODY, NOBODY)
        (folder / "work" / "file").write_text("old\n")
        os.chown(folder / "work" / "file", NOBODY, NOBODY)
        yield folder


def spawned(folder: Path, script: str, *options: str) -> tuple[dict, str]:
    words = [*AS_NOBODY, str(folder / "spawn"), "--result-fd", "2", *options, "--", "/bin/sh", "-c", script]
    done = subprocess.run(words, cwd=folder / "work", capture_output=True, text=True, check=True)
    return json.loads(done.stderr), done.stdout


def test_a_user_gets_a_view_and_sees_nothing_but_that(open_folder: Path) -> None:
    script = (
        "id; grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status; pwd; cat file; echo new >file; mkdir d; exit 3"
    )
    work = str(open_folder / "work")
    options = ["--private-at", str(open_folder / "at"), "--private", work, "--copied", f"{work}/file"]
    private, within = spawned(open_folder, script, *options)
    assert (open_folder / "work" / "file").read_text() == "old\n"
    assert not (open_folder / "work" / "d").exists()
    usual, without = spawned(open_folder, script)
    assert within == without
    assert "uid=65534" in within
    assert (private["exit_code"], usual["exit_code"]) == (3, 3)
    assert private["written_bytes"] > 0
    assert usual["written_bytes"] is None
    assert not list((open_folder / "at").iterdir())
