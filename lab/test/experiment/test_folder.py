"""The experiment's folder: private, append-only, whole after any kill."""

import itertools
import os
import shutil
import stat
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import library, program

from reap.allocators import catalog
from reap.base.errors import ReapError
from reap.experiment.folder import Folder, read_runs
from reap.experiment.records import Cell, Run
from reap.experiment.specify import Conditions, specify
from reap.launch.records import Outcome


def spec(command=None, **options):
    chosen = catalog.parse(f"glibc,good={library('good')}")
    return specify(command or [program("busy")], chosen, conditions=Conditions(**options))


def a_run(order, text="an\u00efve \n tail"):
    cell = Cell(workload="command", allocator="good", repeat=order)
    return Run(
        cell=cell, outcome=Outcome(exit_code=0, wall_ns=order, stderr_tail=text), order=order, started=1.5
    )


def test_a_folder_is_private_and_holds_what_was_asked(tmp_path):
    with Folder.create(tmp_path / "e", spec(stdin=True), [b"one\n", b"two\n"]) as folder:
        assert Path(folder.stdin).read_bytes() == b"one\ntwo\n"
        folder.append(a_run(0))
    assert stat.S_IMODE((tmp_path / "e").stat().st_mode) == 0o700
    for file in (tmp_path / "e").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
    with Folder.resume(tmp_path / "e") as folder:
        assert folder.spec == spec(stdin=True)
        assert folder.runs == [a_run(0)]


def test_an_existing_folder_is_refused_and_replaced_only_by_force(tmp_path):
    Folder.create(tmp_path / "e", spec()).close()
    with pytest.raises(ReapError, match="exists already") as caught:
        Folder.create(tmp_path / "e", spec())
    assert "--force" in caught.value.hint
    Folder.create(tmp_path / "e", spec(runs=7), force=True).close()
    with Folder.resume(tmp_path / "e") as folder:
        assert folder.spec.runs == 7


def test_force_never_replaces_what_is_not_ours(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.txt").write_text("years")
    with pytest.raises(ReapError, match="not an experiment's folder"):
        Folder.create(tmp_path / "work", spec(), force=True)
    assert (tmp_path / "work" / "thesis.txt").read_text() == "years"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_line_cut_short_anywhere_loses_that_run_alone(data):
    lines = [msgspec.json.encode(a_run(n)) + b"\n" for n in range(3)]
    cut = data.draw(st.integers(min_value=0, max_value=len(lines[2]) - 1))
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "runs.jsonl"
        path.write_bytes(lines[0] + lines[1] + lines[2][:cut])
        runs, whole = read_runs(path)
    assert runs == [a_run(0), a_run(1)]
    assert whole == len(lines[0]) + len(lines[1])


def test_after_a_cut_the_next_run_begins_a_line_of_its_own(tmp_path):
    with Folder.create(tmp_path / "e", spec()) as folder:
        folder.append(a_run(0))
    with (tmp_path / "e" / "runs.jsonl").open("ab") as log:
        log.write(b'{"cell":{"work' + b"x" * 5000)
    with Folder.resume(tmp_path / "e") as folder:
        folder.append(a_run(1))
    assert read_runs(tmp_path / "e" / "runs.jsonl")[0] == [a_run(0), a_run(1)]


@pytest.mark.parametrize("damage", [b"{}\n", b"not json\n", b'{"cell": "\xff"}\n', b'{"cell": 3}\n', b"\n"])
def test_damage_in_the_middle_is_no_kill(tmp_path, damage):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(msgspec.json.encode(a_run(0)) + b"\n" + damage + msgspec.json.encode(a_run(1)) + b"\n")
    with pytest.raises(ReapError, match="line 2, is damaged"):
        read_runs(path)


@pytest.mark.parametrize("text", [b"", b"{}", b"nonsense", b'{"schema": 1}', b'{"reap_version": "\xff"}'])
def test_a_damaged_specification(tmp_path, text):
    Folder.create(tmp_path / "e", spec()).close()
    (tmp_path / "e" / "experiment.json").write_bytes(text)
    with pytest.raises(ReapError, match="is damaged"):
        Folder.resume(tmp_path / "e")


def test_what_is_no_experiment(tmp_path):
    for path in (tmp_path, tmp_path / "nothing", Path("/etc/passwd")):
        with pytest.raises(ReapError, match="not an experiment's folder"):
            Folder.resume(path)


def test_a_newer_format_is_left_to_a_newer_reap(tmp_path):
    Folder.create(tmp_path / "e", spec()).close()
    file = tmp_path / "e" / "experiment.json"
    file.write_text(file.read_text().replace('"schema": 1', '"schema": 2'))
    with pytest.raises(ReapError, match="newer reap"):
        Folder.resume(tmp_path / "e")


def test_two_cannot_write_one_experiment(tmp_path):
    with Folder.create(tmp_path / "e", spec()), pytest.raises(ReapError, match="another reap"):
        Folder.resume(tmp_path / "e")
    Folder.resume(tmp_path / "e").close()


def test_a_program_that_changed_is_another_experiment(tmp_path):
    copy = tmp_path / "busy"
    shutil.copy(program("busy"), copy)
    Folder.create(tmp_path / "e", spec([str(copy)])).close()
    Folder.resume(tmp_path / "e").close()
    os.utime(copy, (1, 1))  # as one that was built or installed again
    Folder.resume(tmp_path / "e").close()
    with copy.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(ReapError, match="busy changed since it began"):
        Folder.resume(tmp_path / "e")


def test_an_interrupted_spooling_leaves_nothing(tmp_path):
    def interrupted():
        yield b"some"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Folder.create(tmp_path / "e", spec(stdin=True), interrupted())
    assert not (tmp_path / "e").exists()


def test_a_place_where_nothing_can_be_written():
    with pytest.raises(ReapError, match="cannot be written"):
        Folder.create(Path("/proc/nothing/e"), spec())


def append_forever(folder):
    for order in itertools.count():
        folder.append(a_run(order, "x" * 1000))


@pytest.mark.privileged
def test_a_full_disk_keeps_what_was_measured(tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "tmpfs", tmp_path]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        with Folder.create(tmp_path / "e", spec()) as folder, pytest.raises(ReapError) as caught:
            append_forever(folder)
        assert "cannot be written" in caught.value.what
        assert "--resume" in caught.value.hint
        runs, _ = read_runs(tmp_path / "e" / "runs.jsonl")
        assert len(runs) > 10
        assert [run.order for run in runs] == list(range(len(runs)))
    finally:
        subprocess.run(["umount", tmp_path], check=True)
