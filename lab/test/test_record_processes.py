"""Process trees: each process is counted, however it came to be and however it ended."""

import os
import signal
from pathlib import Path

import pytest
from programs import program
from recorded import recorded, shell, target

from reap.analysis.notes import notes
from reap.launch.records import Launch
from reap.trace import read, record

DEPTHS = ("triage", "full")


def processes(folder, depth, *words, **options):
    done = recorded(folder, depth, target("processes"), *map(str, words), **options)
    assert done.outcome.status == 0, done.outcome.stderr_tail
    return done


def objects_of(done, size):
    return sum(objects for low, _, objects, _ in done.recording.sizes() if low == size)


@pytest.mark.parametrize("depth", DEPTHS)
def test_parent_and_child_of_a_fork_are_both_counted(tmp_path, depth):
    done = processes(tmp_path, depth, "fork")
    parent, child = done.profile.processes
    assert (parent.totals.total_objects, child.totals.total_objects) == (101, 100)
    assert child.pid != parent.pid
    assert child.note == "forked"
    assert [image["parent"] for image in done.recording.images()] == [-1, 0]
    assert done.totals["frees"] == 202
    # The child gave back its copy of a block that its parent had.
    assert done.totals["unmatched_frees"] == (1 if depth == "full" else 0)


@pytest.mark.parametrize("depth", DEPTHS)
def test_forks_of_a_program_whose_other_threads_allocate(tmp_path, depth):
    done = processes(tmp_path, depth, "threads", 30)
    assert objects_of(done, 2002) == 3000
    assert len(done.profile.processes) == 31


def test_two_hundred_quick_children(tmp_path):
    done = processes(tmp_path, "triage", "quick", 200)
    assert objects_of(done, 2002) == 200
    assert len({process.pid for process in done.profile.processes}) == 201
    assert done.recording.header()["finished"]
    assert done.path.stat().st_blocks * 512 < 201 * 40000  # what a process did not use is given back


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("way", ["vfork", "spawn"])
def test_a_program_started_without_fork(tmp_path, depth, way):
    done = processes(tmp_path, depth, way)
    assert [process.totals.total_objects for process in done.profile.processes] == [6, 7]
    assert [process.command[1] for process in done.profile.processes] == [way, "leaf"]


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_child_made_past_the_handlers_of_fork_does_not_write_into_its_parents_blocks(tmp_path, depth):
    done = processes(tmp_path, depth, "raw")
    damage = done.recording.damage()
    assert not any(damage.values()), damage
    if depth == "full":
        assert [process.totals.total_objects for process in done.profile.processes] == [3050, 3000]
        assert (objects_of(done, 2001), objects_of(done, 2002)) == (3050, 3000)


def test_a_process_that_becomes_another_program_again_and_again(tmp_path):
    done = processes(tmp_path, "triage", "exec", 20)
    assert [process.totals.total_objects for process in done.profile.processes] == [10] * 20
    assert len({process.pid for process in done.profile.processes}) == 1


def test_gcc_works_through_its_children(tmp_path):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    done = shell(tmp_path, "triage", f"gcc -o {tmp_path}/a {tmp_path}/a.c")
    assert done.outcome.status == 0
    names = [process.name for process in done.profile.processes]
    assert any("gcc" in name for name in names)
    assert {"cc1", "collect2"} <= set(names)
    assert next(p for p in done.profile.processes if p.name == "cc1").totals.total_objects > 1000


def test_a_script_and_what_it_starts(tmp_path):
    done = shell(tmp_path, "full", f"seq 3 | sort -r | head -1; {program('busy')}")
    names = [process.name for process in done.profile.processes]
    assert {"seq", "sort", "head", "busy"} <= set(names)


def test_a_daemon_that_outlives_its_parent_is_said_to_run_still(tmp_path):
    path = tmp_path / "daemon.reap"
    launch = Launch(argv=["p", "daemon"], program=target("processes"), capture=False)
    stderr = os.dup(2)
    noted = os.open(tmp_path / "pid", os.O_CREAT | os.O_WRONLY)
    os.dup2(noted, 2)
    try:
        record.record(launch, path, "full")
    finally:
        os.dup2(stderr, 2)
    daemon = int((tmp_path / "pid").read_text())
    try:
        seen = read.read(path)
        assert not seen.header()["finished"]
        assert any("still ran" in note for note in notes(seen, "full"))
    finally:
        os.kill(daemon, signal.SIGUSR1)
    while Path(f"/proc/{daemon}").exists():
        os.sched_yield()
    assert record.finish(path) == 0
    later = read.read(path)
    assert later.header()["finished"]
    assert {low: objects for low, _, objects, _ in later.sizes()}[2006] == 10


def test_a_child_that_changes_root_and_user_goes_on_and_is_said_to_be_lost(tmp_path):
    (tmp_path / "empty").mkdir()
    done = processes(tmp_path, "full", "other", tmp_path / "empty")
    header = done.recording.header()
    assert header["stop_reason"] != 0
    assert objects_of(done, 2001) == 10
    assert "could not be opened again" in done.profile.notes[0]
    assert not any(done.recording.damage().values())
