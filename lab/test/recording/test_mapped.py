"""A recording is made on a file system whose files cannot be mapped, too."""

import os
import shutil
import subprocess

import pytest
from programs import reap

from reap.base.errors import ReapError
from reap.launch.program import resolve
from reap.launch.records import Launch
from reap.recording import mapped, read, record
from reap.recording.analyse.profile import profile

WORDS = ["/bin/echo", "here"]


def test_a_folder_of_an_ordinary_file_system_maps_and_so_does_what_is_not_there(tmp_path):
    assert mapped.can_map(tmp_path)
    assert mapped.can_map(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_the_recording_is_copied_to_its_path(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "can_map", lambda folder: folder != tmp_path)
    path = tmp_path / "v.reap"
    launch = Launch(argv=WORDS, program=resolve(WORDS).path)
    outcome = record.record(launch, path, "triage")
    assert outcome.status == 0
    assert profile(read.read(path), []).totals.total_objects > 0
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ReapError, match="exists already"):
        record.record(launch, path, "triage")
    record.record(launch, path, "triage", force=True)
    assert [each.name for each in tmp_path.iterdir()] == ["v.reap"]


@pytest.mark.privileged
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("bindfs"), reason="needs root and bindfs")
def test_fuse_with_direct_io(tmp_path):
    real, view = tmp_path / "real", tmp_path / "view"
    real.mkdir(), view.mkdir()
    if subprocess.run(["bindfs", "-o", "direct_io", real, view], check=False).returncode:
        pytest.skip("this container may not mount")
    try:
        done = reap("record", "-o", "v.reap", "--", *WORDS, cwd=view)
        assert (done.returncode, done.stdout) == (0, "here\n"), done.stderr
        assert "made in another folder and copied" in done.stderr
        assert "/bin/echo here" in reap("show", "v.reap", cwd=view).stdout
    finally:
        subprocess.run(["umount", view], check=True)
