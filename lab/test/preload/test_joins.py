"""No preload makes a program hang in which a constructor of an opened library waits for a thread."""

import os
import shutil
import subprocess

import pytest
from programs import reap
from recorded import recorded, target

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.launch import native_files, price

PRELOADS = (
    "aligned",
    "exec",
    "fragment",
    "price-arenas",
    "price-bump",
    "price-cache",
    "price-placed",
    "price-recycle",
    "probe",
    "record",
    "requests",
    "resident",
    "drag-sample",
    "drag-callbacks",
    *(f"price-{name}" for name in (price.FIRST, price.BUMP, *price.CAUSES)),
)
OWN_LOCK = {"dlopen", "dlmopen", "dlclose"}
"""They wait for the loader's lock themselves, without a preload, too."""
ENDS = ("_exit", "_Exit")


def library() -> str:
    return target("joins/library", "-shared", "-fPIC", "-Wl,--no-as-needed", "-lstdc++")


def program() -> str:
    return target("joins/program")


def exported(name: str) -> set[str]:
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--format=just-symbols", native_files.preload(name)],
        capture_output=True,
        text=True,
        check=True,
    )
    names = set(listed.stdout.split())
    own = {each for each in names if each.startswith(("reap_", "__tsan_", "__start_", "__stop_"))} - {
        "reap_mark_listener_1"
    }
    return names - own - OWN_LOCK


def run(*words: str, code: int = 0, **variables: str) -> list[str]:
    """What the program says, or what its library does."""
    done = subprocess.run(
        words, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True, check=False, timeout=300
    )
    assert done.returncode == code, done
    return done.stdout.split("\n")[:-1]


@pytest.fixture(scope="module")
def alone() -> list[str]:
    calls = run(program(), library())
    assert not [each for each in calls if "hangs" in each]
    return calls


@pytest.mark.parametrize("when", ["load", "unload"])
@pytest.mark.parametrize("name", PRELOADS)
def test_the_first_call_of_each_function_ends_in_a_thread_that_a_constructor_joins(name, when, alone):
    calls = run(program(), library(), LD_PRELOAD=str(native_files.preload(name)), JOINS_AT=when)
    assert {*calls} - {"reap_mark_listener_1"} == {*alone}
    assert exported(name) - {*ENDS} <= {*calls}


@pytest.mark.parametrize("name", ENDS)
def test_such_a_thread_can_end_the_process(name):
    preload = str(native_files.preload("drag-callbacks"))
    assert run(program(), library(), LD_PRELOAD=preload, JOINS=name, code=7) == []


@pytest.mark.parametrize("name", ["record", "drag-callbacks"])
def test_an_operator_new_that_fails_throws_there_too(name):
    calls = run(program(), library(), LD_PRELOAD=str(native_files.preload(name)), JOINS="throws")
    assert calls == ["throws"]


@pytest.mark.parametrize("name", PRELOADS)
def test_a_library_that_is_loaded_with_the_program_may_join_too(name, alone):
    calls = run(program(), LD_PRELOAD=f"{native_files.preload(name)}:{library()}")
    assert {*calls} >= {*alone}


@pytest.mark.parametrize("depth", ["triage", "full"])
@pytest.mark.parametrize("allocator", ["glibc", "jemalloc", "mimalloc", "tcmalloc"])
def test_a_recorded_program_makes_every_call_too(tmp_path, depth, allocator, alone):
    found = catalog.find(allocator) if allocator != "glibc" else None
    if isinstance(found, Allocator | None):
        said = tmp_path / "said"
        done = recorded(
            tmp_path,
            depth,
            program(),
            library(),
            allocator=found.library if found else "",
            keep=str(said),
        )
        assert done.outcome.status == 0, done.outcome
        assert {*said.read_text().split("\n")} - {"", "reap_mark_listener_1"} == {*alone}
        assert done.totals.skipped == 0


VERBS = {
    "record": ("record", "-o", "x.reap"),
    "record in full depth": ("record", "-d", "full", "-o", "x.reap"),
    "run": ("run", "--runs", "3", "-a", "glibc,jemalloc", "-o", "folder"),
    "check": ("check", "--max-peak", "1GB"),
    "fragment": ("fragment",),
    "wall": ("wall",),
    "compare": ("compare", "-a", "glibc,jemalloc", "--runs", "3"),
    "rss": ("rss",),
    "drag by sampling": ("drag", "--engine", "sample"),
    "drag": ("drag", "--engine", "exact"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_no_command_makes_such_a_program_hang(tmp_path, verb):
    """Its operators are made by threads; a program that hangs would print `NAME hangs`, and end after it."""
    if verb == "drag" and shutil.which("valgrind") is None:
        pytest.skip("Valgrind is not installed")
    words = (*VERBS[verb], "--", program(), library())
    said = reap(*words, cwd=tmp_path, env={**os.environ, "JOINS": "_Z"}, timeout=300)
    assert said.returncode == 0, said
    assert "hangs" not in said.stdout + said.stderr
