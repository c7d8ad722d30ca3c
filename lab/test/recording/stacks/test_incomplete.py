"""Stacks that do not reach the first function of their thread are counted, and it is said."""

import pytest
from building import OUT, compiled
from recorded import recorded, target

DEEP = r"""
#include <stdlib.h>
static volatile int sink;
__attribute__((noinline)) static void *deep(int levels) {
    void *block = levels == 0 ? malloc(100) : deep(levels - 1);
    ++sink;
    return block;
}
int main(int count, char **words) {
    const int times = atoi(words[1]);
    for (int i = 0; i < 30 * times; ++i) free(deep(2000));
    for (int i = 0; i < 10 * times; ++i) free(deep(900));
    return 0;
}
"""


KEPT = 128 + 128 - 4
"""Calls of `deep` that a deeper stack shows, beside main and what calls it."""


@pytest.mark.parametrize(("depth", "times"), [("full", 1), ("triage", 20_000)])  # triage has samples of them
def test_stacks_that_are_too_deep(tmp_path, depth, times):
    path = compiled("too-deep", ["gcc", "-x", "c", "-O1", "-fno-builtin", "-", "-o", OUT], text=DEEP)
    done = recorded(tmp_path, depth, path, str(times))
    stacks = done.recording.incomplete()
    assert stacks.ended == 0
    assert stacks.cut / stacks.all == pytest.approx(0.75, abs=0.03 if depth == "full" else 0.2)
    note = next(note for note in done.profile.notes if "incomplete stack" in note)
    assert "0 % end in code without unwind tables" in note
    assert "are deeper than 1024 functions, of which the middle is left out" in note
    for image, number, *_ in done.recording.stacks(100):
        frames = [frame[2] for frame in done.recording.frames(image, number)]
        if "deep" in frames:
            assert "main" in frames
            assert frames.count("deep") in (901, KEPT)
            assert ("(frames left out)" in frames) == (frames.count("deep") == KEPT)


DESCENDS = r"""
#include <stdlib.h>
static volatile int sink;
__attribute__((noinline)) static void deep(int levels) {
    free(malloc(16));
    if (levels > 0) levels % 3 ? deep(levels - 1) : deep(levels - 2);
    ++sink;
    free(malloc(24));
}
__attribute__((noinline)) static void first(int levels) { deep(levels); ++sink; }
__attribute__((noinline)) static void second(int levels) { deep(levels); ++sink; }
int main(int count, char **words) {
    const int levels = atoi(words[1]);
    for (int i = 0; i < 2; ++i) {
        first(levels);
        second(levels);
    }
    first(levels / 3);
    return 0;
}
"""


@pytest.mark.parametrize("flag", ["-fomit-frame-pointer", "-fno-omit-frame-pointer"])
def test_a_deep_recursion_keeps_its_roots(tmp_path, flag):
    """Events on the way down and on the way back, from two callers at the same place of the stack."""
    path = compiled(
        "descends", ["gcc", "-x", "c", "-O1", "-fno-builtin", flag, "-", "-o", OUT], text=DESCENDS
    )
    recording = recorded(tmp_path, "full", path, "9000").recording
    sums = {"first": 0.0, "second": 0.0}
    for image, number, objects, *_ in recording.stacks(100_000):
        frames = [frame[2] for frame in recording.frames(image, number)]
        roots = [name for name in sums if name in frames]
        if "deep" in frames:
            assert len(roots) == 1
            assert "main" in frames
            sums[roots[0]] += objects
    calls = [sum(1 for _ in levels_of(levels)) for levels in (9000, 3000)]
    assert sums == {"first": 4 * calls[0] + 2 * calls[1], "second": 4 * calls[0]}


def levels_of(levels):
    while True:
        yield levels
        if levels <= 0:
            return
        levels -= 1 if levels % 3 else 2


def test_stacks_that_end_in_code_compiled_at_run_time(tmp_path):
    done = recorded(tmp_path, "full", target("compiled"), "none")
    stacks = done.recording.incomplete()
    assert (stacks.ended, stacks.cut) == (2, 0)
    assert any("end in code without unwind tables" in note for note in done.profile.notes)


def test_an_ordinary_program_has_none(tmp_path):
    done = recorded(tmp_path, "full", target("stacks"), "100")
    stacks = done.recording.incomplete()
    assert (stacks.ended, stacks.cut) == (0, 0)
    assert stacks.all > 10
    assert not any("incomplete stack" in note for note in done.profile.notes)
