"""The verdict on real programs whose cause is known by construction, measured as by `reap wall`."""

import os
from pathlib import Path

import pytest
from causes import Case, cause_program, suite

from reap.diagnosis.wall import judge
from reap.diagnosis.wall_records import WallVerdict
from reap.experiment import wall
from reap.launch import program as programs
from reap.launch.records import Launch

pytestmark = pytest.mark.verdict
SCALE = 0.4
"""Of the programs: under a second each. At 0.25 every verdict is still the same."""
TRACEPOINTS = os.access("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", os.R_OK)


def said_of(folder: Path, command: list[str], **environment: str) -> WallVerdict:
    found = programs.resolve(command, environment={**os.environ, **environment})
    launch = Launch(argv=command, program=found.path, environment=environment)
    return judge(wall.measure(launch, found, folder, lambda _: None, by_strace=not TRACEPOINTS).wall)


ALLOCATORS = ("tcache", "calloc", "arena", "brk", "mmap", "faults", "pin")
NAMES = (*ALLOCATORS, "parse", "lock", "disk", "network", "nothing")


@pytest.mark.parametrize("name", [*NAMES, "lazy", "cpython", "go", "java"])
def test_the_cause_is_named(name: str, tmp_path: Path) -> None:
    case: Case = next(each for each in suite(SCALE) if each.name == name)
    if case.missing:
        pytest.skip(f"needs {case.missing}")
    verdict = said_of(tmp_path, case.command, **case.environment)
    assert verdict.cause == case.cause, verdict.paragraph


TWINS = (*ALLOCATORS, "lock", "cpython")


@pytest.mark.parametrize("name", TWINS)
def test_the_cause_is_not_named_of_the_same_work_without_it(name: str, tmp_path: Path) -> None:
    case: Case = next(each for each in suite(SCALE) if each.name == name)
    verdict = said_of(tmp_path, [*case.command, "cured"], **case.environment)
    assert case.cause not in {verdict.cause, *(each.cause for each in verdict.others)}, verdict.paragraph


def test_i_leak_a_session_that_is_freed_is_no_leak(tmp_path: Path) -> None:
    verdict = said_of(tmp_path, [cause_program(), "leak", str(SCALE), "cured"])
    assert "growing memory" not in {verdict.cause, *(each.cause for each in verdict.others)}


def test_a_busy_allocator_on_its_fast_path_is_left_of_the_knee(tmp_path: Path) -> None:
    verdict = said_of(tmp_path, [cause_program(), "many", str(SCALE)])
    assert verdict.regime == "left of the knee", verdict.paragraph
    assert verdict.expect is not None
    assert verdict.expect.low == 0
    assert verdict.expect.high < 0.3


@pytest.mark.parametrize("mode", ["leak", "fresh"])
def test_i_leak_memory_that_is_in_use_is_not_called_free(mode: str, tmp_path: Path) -> None:
    verdict = said_of(tmp_path, [cause_program(), mode, str(SCALE)])
    every = {verdict.cause, *(each.cause for each in verdict.others)}
    assert "growing memory" in every, verdict.paragraph
    assert "pin at the top" not in every, verdict.paragraph
    said = " ".join(each.statement for each in verdict.evidence)
    assert f"allocated at {'make_session' if mode == 'leak' else 'cause_fresh'}" in said


def test_d_arena_one_contended_arena_is_the_lock_and_not_the_thread_cache(tmp_path: Path) -> None:
    """A tcache holds none of these blocks, and what their threads wait for is the arena."""
    verdict = said_of(tmp_path, [cause_program(), "arena", str(SCALE)])
    assert verdict.cause == "arena lock", verdict.paragraph
    assert "page faults" not in {each.cause for each in verdict.others}
