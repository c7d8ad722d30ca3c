"""Files that are written whole or not at all; reports as JSON and back."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from samples import hostile_report, report_of, three_answers

from reap.answer.json import encode, write_json
from reap.answer.records import SCHEMA
from reap.base import files
from reap.base.errors import ExitCode, ReapError
from reap.base.files import read_back, unused, write_safely
from reap.base.records import Estimate, exactly
from reap.run.parts import read_json


def test_a_file_is_private_and_whole(tmp_path: Path) -> None:
    path = write_safely(tmp_path / "a", b"text")
    assert path.read_bytes() == b"text"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_an_existing_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"mine")
    with pytest.raises(ReapError, match="exists already") as caught:
        write_safely(path, b"other")
    assert str(path) in caught.value.what
    assert "--force" in caught.value.hint
    assert caught.value.code == ExitCode.INTERNAL
    assert path.read_bytes() == b"mine"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_force_replaces_it_and_makes_it_private(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"mine")
    path.chmod(0o644)
    write_safely(path, b"other", force=True)
    assert path.read_bytes() == b"other"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_to_nothing_is_a_name_that_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReapError, match="is a link"):
        write_safely(path, b"other")


def test_a_name_taken_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"mine")
    monkeypatch.setattr(files.os.path, "lexists", lambda _: False)
    with pytest.raises(ReapError, match="exists already"):
        write_safely(path, b"other")
    assert path.read_bytes() == b"mine"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def full(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ReapError, match="nothing of it was kept") as caught:
        write_safely(tmp_path / "a", b"text")
    assert "space" in caught.value.hint
    assert not list(tmp_path.iterdir())


def test_a_file_size_limit_is_a_full_disk(tmp_path: Path) -> None:
    """A real limit: the kernel refuses the second block."""
    script = (
        "import resource, signal, sys\n"
        "from reap.base.errors import ReapError\n"
        "from reap.base.files import write_safely\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n    write_safely(sys.argv[1], b'x' * 100_000)\n"
        "except ReapError as error:\n    print(error)\n"
    )
    path = [str(Path(files.__file__).parents[2]), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "a")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )
    assert "nothing of it was kept" in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ReapError, match="does not exist"):
        write_safely(tmp_path / "none" / "a", b"")
    with pytest.raises(ReapError, match="is a folder"):
        write_safely(tmp_path, b"", force=True)


def test_a_device_is_written_to() -> None:
    write_safely("/dev/null", b"text")
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("leads_to", ["place", "none", "/dev/null"])
def test_no_result_is_written_through_a_link(tmp_path: Path, leads_to: str) -> None:
    link, place = tmp_path / "link", tmp_path / "place"
    place.write_bytes(b"old")
    link.symlink_to(leads_to)
    with pytest.raises(ReapError, match=f"is a link to {leads_to}"):
        write_safely(link, b"new", force=True)
    with pytest.raises(ReapError, match="is a link"), files.written_safely(link, force=True):
        pass
    assert link.is_symlink()
    assert place.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"])
def test_a_link_of_the_system_is_written_to(tmp_path: Path, name: str) -> None:
    words = ["-c", f"from reap.base.files import write_safely as w; w({name!r}, b'new', force=True)"]
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, *words], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"new"
    assert subprocess.run([sys.executable, *words], capture_output=True, check=True).stdout == b"new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives links away")
def test_another_users_folder_of_runs_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs").mkdir()
    Path("reap-runs").symlink_to("theirs")
    assert files.unused("a").parent == Path("reap-runs")
    os.lchown("reap-runs", 65534, 65534)
    monkeypatch.delenv("SUDO_UID", raising=False)
    with pytest.raises(ReapError, match="belongs to another user"):
        files.unused("a")
    monkeypatch.setenv("SUDO_UID", "65534")
    assert files.unused("a").parent == Path("reap-runs"), "sudo in one's own folder"


def test_the_full_device_is_a_full_disk() -> None:
    with pytest.raises(ReapError, match="nothing of it was kept"):
        write_safely("/dev/full", b"text")


@pytest.mark.parametrize("report", [three_answers(), hostile_report(), report_of()])
def test_json_and_back(tmp_path: Path, report) -> None:
    assert read_json(write_json(report, tmp_path / "r.json")) == report


def test_json_is_written_in_lines_and_never_over_another(tmp_path: Path) -> None:
    path = write_json(three_answers(), tmp_path / "r.json")
    assert len(path.read_text().splitlines()) > 100
    with pytest.raises(ReapError, match="exists already"):
        write_json(three_answers(), path)
    assert write_json(report_of(), path, force=True) == path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a report"),
        (b"{", "is not a report"),
        (b"[]", "is not a report"),
        (b"{}", "is not a report"),
        (b"\xff\xfe", "is not a report"),
        (b'{"schema": "report", "version": 99}', "reads version 3"),
        (b'{"schema": 1}', "has version 1 of the schema"),
        (b'{"schema": "rss", "version": 1}', "is what another command wrote"),
        (b'{"schema": "report", "version": 3}', "is damaged"),
        (encode(three_answers())[:-900], "is not a report"),
        (encode(three_answers()).replace(b'"total_objects": ', b'"total_objects": "x", "y": '), "is damaged"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(ReapError, match=message) as caught:
        read_json(path)
    assert str(path) in caught.value.what
    assert caught.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReapError, match="could not be read: No such file"):
        read_json(tmp_path / "none")


def test_fields_of_a_newer_reap_are_passed_over(tmp_path: Path) -> None:
    held = msgspec.json.decode(encode(three_answers()))
    held["answers"][0]["profile"]["invented_later"] = 1
    path = tmp_path / "r.json"
    path.write_bytes(msgspec.json.encode(held))
    assert read_json(path) == three_answers()
    assert held["schema"] == SCHEMA


def test_a_file_of_ours_is_read_back_or_told(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    assert read_back(path, Estimate, "make it again") is None
    write_safely(path, msgspec.json.encode(exactly(3)))
    assert read_back(path, Estimate, "make it again") == exactly(3)
    for damage in (
        b"",
        b'{"value": 3',
        b"[]",
        b'{"value": 3, "low": "x"}',
        b'{"\xff": 3}',
        b'{"x":' + b"[" * 99999,
    ):
        path.write_bytes(damage)
        with pytest.raises(ReapError, match=r"kept\.json is damaged") as told:
            read_back(path, Estimate, "make it again")
        assert told.value.hint == "make it again"
    with pytest.raises(ReapError, match="cannot be read"):
        read_back(tmp_path, Estimate, "")


def test_two_results_of_one_second_have_names_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = []
    for _ in range(5):
        path = unused("perl", ".csv")
        path.write_text("")
        made.append(path.name)
    assert len(set(made)) == 5
    assert all(name.startswith("perl-") and name.endswith(".csv") for name in made)


def test_results_without_a_name_go_to_one_private_folder_that_git_ignores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert {unused("perl").parent, unused("wall-sort").parent} == {Path("reap-runs")}
    assert [path.name for path in tmp_path.iterdir()] == ["reap-runs"]
    assert (tmp_path / "reap-runs").stat().st_mode & 0o777 == 0o700
    ignored = tmp_path / "reap-runs" / ".gitignore"
    assert ignored.read_text() == "*\n"
    ignored.unlink()
    unused("perl")
    assert not ignored.exists(), "whoever removed it wants to commit the runs"


def test_a_folder_of_runs_that_cannot_be_made_is_told_with_a_way_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("reap-runs").write_text("mine")
    with pytest.raises(ReapError, match="reap-runs is not a folder") as told:
        unused("perl")
    assert "-o" in told.value.hint
    assert Path("reap-runs").read_text() == "mine"
    Path("reap-runs").unlink()
    monkeypatch.setattr(Path, "mkdir", _read_only)
    with pytest.raises(ReapError, match="Read-only file system") as told:
        unused("perl")
    assert told.value.hint == "this file system is read-only: name another place with -o"


def _read_only(*_, **__):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))
