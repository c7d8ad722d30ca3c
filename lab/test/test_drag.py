"""The exact drag engine agrees to the last digit with programs that compute their own drag."""

import subprocess
from pathlib import Path

import msgspec
import pytest
from programs import reap
from recorded import target

from reap.analysis.drag_records import DragLevel, DragProfile

SEED = "7"


def drag(folder: Path, *command: str, **options) -> tuple[DragProfile, subprocess.CompletedProcess]:
    """Runs `reap drag`, and reads what it wrote."""
    file = folder / "drag.json"
    done = reap("drag", "--json", str(file), "--force", "--", *command, **options)
    assert file.exists(), done.stderr
    return msgspec.json.decode(file.read_bytes(), type=DragProfile), done


def said(level: DragLevel) -> list[str]:
    return [
        level.live_area,
        level.needed_area,
        str(level.total.objects),
        str(level.peak),
        str(level.needed_peak),
    ]


@pytest.mark.parametrize("way", ["malloc", "realloc", "coroutine", "stack", "pool"])
def test_a_program_that_computes_its_own_drag_agrees(way, tmp_path):
    result, done = drag(tmp_path, target("drag"), way, SEED)
    name, *truth = done.stdout.split()
    assert name == way
    assert said(result.processes[0].levels[0]) == truth
    assert result.processes[0].end == "exited"
    assert result.status == done.returncode == 0


def test_each_process_of_a_fork_agrees(tmp_path):
    result, done = drag(tmp_path, target("drag"), "fork", SEED)
    truth = {name: rest for name, *rest in (line.split() for line in done.stdout.splitlines())}
    found = {each.forked: said(each.levels[0]) for each in result.processes}
    assert found == {True: truth["child"], False: truth["fork"]}


def test_threads_agree(tmp_path):
    """What the C library allocates for threads is there before the program's own objects and stays."""
    result, done = drag(tmp_path, target("drag"), "threads", SEED)
    live, needed = map(int, done.stdout.split()[1:3])
    module = Path(target("drag")).name
    own = [site for site in result.processes[0].levels[0].sites if site.module == module]
    assert sum(int(site.live_area) for site in own) == live
    assert sum(int(site.needed_area) for site in own) == needed
