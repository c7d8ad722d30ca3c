"""`reap record --kit` makes a folder, and replaces nothing that it should not."""

import stat

import pytest
from programs import reap

from reap.base.errors import ExitCode

PARTS = {"libreap-record.so", "reap-record", "reap-spawn"}


def test_a_kit_can_be_copied_and_used_by_all(tmp_path):
    done = reap("record", "--kit", "kit", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "kit").iterdir()}
    assert modes == {"libreap-record.so": 0o644, "reap-record": 0o755, "reap-spawn": 0o755}
    assert stat.S_IMODE((tmp_path / "kit").stat().st_mode) == 0o755
    assert done.stderr.splitlines()[0] == "the kit: kit"
    assert "kit/reap-record -o x.reap -- CMD" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["kit"]


def test_an_empty_folder_may_be_there(tmp_path):
    (tmp_path / "kit").mkdir()
    assert reap("record", "--kit", "kit", cwd=tmp_path).returncode == 0
    assert {path.name for path in (tmp_path / "kit").iterdir()} == PARTS


def test_a_kit_that_is_there_is_replaced_on_request(tmp_path):
    folder = tmp_path / "kit"
    folder.mkdir()
    (folder / "mine").write_text("kept")
    (folder / "reap-record").write_text("old")
    done = reap("record", "--kit", "kit", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        ExitCode.INTERNAL,
        "reap: kit exists already\n  give another name, or --force to replace the kit in it\n",
    )
    assert reap("record", "--force", "--kit", "kit", cwd=tmp_path).returncode == 0
    assert {path.name for path in folder.iterdir()} == {*PARTS, "mine"}
    assert (folder / "reap-record").stat().st_size > 1000


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_folder_is_left_alone(tmp_path, kind):
    (tmp_path / "real").mkdir()
    if kind == "link":
        (tmp_path / "kit").symlink_to("real")
    else:
        (tmp_path / "kit").write_text("kept")
    done = reap("record", "--force", "--kit", "kit", cwd=tmp_path)
    assert done.returncode in (ExitCode.INTERNAL, ExitCode.USAGE)
    assert not list((tmp_path / "real").iterdir())


@pytest.mark.parametrize("others", [["--", "true"], ["-o", "x.reap"], ["--live"], ["--pid", "1"]])
def test_it_records_nothing_itself(tmp_path, others):
    done = reap("record", "--kit", "kit", *others, cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert "must not be used with --kit" in done.stderr
    assert not (tmp_path / "kit").exists()


def test_a_folder_that_cannot_be_made(tmp_path):
    done = reap("record", "--kit", "no/kit", cwd=tmp_path)
    assert done.returncode == ExitCode.INTERNAL
    assert done.stderr.startswith("reap: the kit no/kit cannot be written: No such file or directory\n")
