"""Accesses of what frees an object are told apart: with programs that know which of theirs these are."""

import functools
from pathlib import Path

import pytest
from lab.test.drag.test_drag import drag, own_sites
from lab.test.drag.test_recompiled import recompiled
from recorded import drag_compiled, target

from reap.drag.exact.records import DragLevel

HEADERS = f"-I{Path(__file__).resolve().parents[3] / 'library' / 'include'}"
PROGRAMS = {
    "drag/release": [
        *("walked", "tree", "counted", "wiped", "wide", "hierarchy"),
        *("queue", "temporary", "grown", "pool", "threads"),
    ],
    "drag/destructors": ["list", "owned"],
}
ALL = [(program, name) for program, names in PROGRAMS.items() for name in names]
USES_AS_IT_FREES = "queue"
"""What it accesses last is wanted: no engine can tell that from a walk."""


@functools.cache
def built(engine: str, program: str) -> str:
    if engine == "exact":
        return target(
            program,
            HEADERS,
            "-DREAP_MARK_VALGRIND=1",
            *(["-std=c++20"] if program == "drag/destructors" else []),
        )
    return drag_compiled(program, "-O1", "-w", "-pthread", "-fno-builtin", HEADERS)


def areas(level: DragLevel, module: str) -> tuple[int, int]:
    """In use and needed, of the program's own objects."""
    own = own_sites(level, module)
    return sum(int(site.live_area) for site in own), sum(int(site.needed_area) for site in own)


@pytest.mark.parametrize("words", [[], ["twin"]], ids=["release", "twin"])
@pytest.mark.parametrize(("program", "name"), ALL)
@pytest.mark.parametrize("engine", ["exact", "recompiled"])
def test_drag_with_and_without_release_is_the_program_s_own(engine, program, name, words, tmp_path):
    path = built(engine, program)
    result, done = (drag if engine == "exact" else recompiled)(tmp_path, path, name, *words)
    live, true, every, earlier = map(int, done.stdout.split())
    level = result.processes[0].levels[0]
    assert areas(level, Path(path).name) == (live, every)
    assert areas(level.before_free or level, Path(path).name) == (live, earlier)
    # And that is the truth, but for what is used in the very step in which it is freed.
    if name != USES_AS_IT_FREES or words:
        assert live / earlier == pytest.approx(live / true, rel=0.02)
