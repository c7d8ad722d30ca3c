"""`reap.open`: a recording as columns for programs of others."""

import subprocess
import sys

import numpy as np
import pytest
from programs import program
from recorded import recorded, target

import reap
from reap.base.errors import ReapError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("opened"), "full", target("stacks")).path


def test_stacks_are_columns_of_exact_totals(path):
    held = reap.open(str(path))
    stacks = held.stacks()
    assert held.depth == "full"
    assert held.seconds > 0
    assert {len(column) for column in stacks.values()} == {
        4
    }  # the function that peaks allocates on two lines
    by_caller: dict[str, list[float]] = {}
    for row, frames in enumerate(stacks["frames"]):
        assert frames[0] == "allocate"
        assert "main" in frames
        assert len(frames) == len(stacks["locations"][row])
        found = by_caller.setdefault(frames[1], [0.0] * 5)
        for place, name in enumerate(("allocations", "bytes", "peak_bytes", "temporary", "exit_bytes")):
            found[place] += stacks[name][row]
    assert by_caller == {
        "keeps_ten_of_100": [10, 1000, 1000, 0, 1000],
        "frees_fifty_of_64": [50, 3200, 0, 50, 0],
        "peaks_with_a_megabyte": [2, (1 << 20) + 16, (1 << 20) + 16, 1, 0],
    }
    assert set(stacks["process"]) == {target("stacks").rpartition("/")[2]}


def test_events_are_columns_that_refer_to_stacks(path):
    held = reap.open(path)
    stacks, events = held.stacks(), held.events()
    assert {len(column) for column in events.values()} == {114}
    made = events["kind"] == held.kinds.index("allocation")
    assert set(events["call"][made]) == {held.calls.index("malloc")}
    for row, number in enumerate(stacks["stack"]):
        assert events["size"][made & (events["stack"] == number)].sum() == stacks["bytes"][row]
    assert (events["stack"][~made] == -1).all()
    assert (np.diff(events["time_ns"]) >= 0).all()


def test_batches_are_the_events_in_parts(path):
    held = reap.open(path)
    batches = []
    held.each_batch(batches.append, 50)
    assert [len(batch["size"]) for batch in batches] == [50, 50, 14]
    whole = held.events()
    for name, column in whole.items():
        assert (np.concatenate([batch[name] for batch in batches]) == column).all()


def test_columns_outlive_the_recording(path):
    """They refer to its memory."""
    events, stacks = reap.open(path).events(), reap.open(path).stacks()
    assert int(events["size"].sum()) == int(stacks["bytes"].sum()) == 1000 + 3200 + (1 << 20) + 16


def test_a_sampled_block_stands_for_many(tmp_path):
    done = recorded(tmp_path, "triage", program("busy"))
    held = reap.open(done.path)
    assert held.depth == "triage"
    made = held.events()["kind"] == held.kinds.index("allocation")
    weights = held.events()["weight"][made]
    assert weights.sum() == pytest.approx(held.stacks()["allocations"].sum(), rel=1e-4)


def test_no_events_are_empty_columns(tmp_path):
    done = recorded(tmp_path, "full", "/bin/true")
    events = reap.open(done.path).events()
    assert len({len(column) for column in events.values()}) == 1


def test_what_is_no_recording_is_refused(tmp_path):
    (tmp_path / "x").write_text("no recording")
    with pytest.raises(ReapError, match="cannot be read as a recording"):
        reap.open(tmp_path / "x")


def test_importing_reap_loads_nothing_else():
    """Measured programs import `reap.mark`."""
    code = "import sys, reap; sys.exit(any(name in sys.modules for name in ('numpy', 'reap.native')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
