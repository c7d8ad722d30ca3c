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
    for (int i = 0; i < 30 * times; ++i) free(deep(200));
    for (int i = 0; i < 10 * times; ++i) free(deep(20));
    return 0;
}
"""


@pytest.mark.parametrize(("depth", "times"), [("full", 1), ("triage", 20_000)])  # triage has samples of them
def test_stacks_that_are_too_deep(tmp_path, depth, times):
    path = compiled("too-deep", ["gcc", "-x", "c", "-O1", "-fno-builtin", "-", "-o", OUT], text=DEEP)
    done = recorded(tmp_path, depth, path, str(times))
    stacks = done.recording.incomplete()
    assert stacks.ended == 0
    assert stacks.cut / stacks.all == pytest.approx(0.75, abs=0.03 if depth == "full" else 0.2)
    note = next(note for note in done.profile.notes if "incomplete stack" in note)
    assert "0 % end in code without unwind tables" in note
    assert "are deeper than 128 functions" in note


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
