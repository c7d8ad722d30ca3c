"""What boxes allocate over time and by thread: it adds up, and whatever is cut the sums stay."""

import random
import re

import numpy as np
import pytest
from programs import compile_c
from recorded import recorded, recorded_as, target

from reap import native
from reap.recording.analyse.calls import MEASURES
from reap.recording.read import read
from reap.show.analyse import slices
from reap.show.analyse.flame import flame, thinned
from reap.show.analyse.slices import FEWEST, Sliced
from reap.show.records import Flame, Slices


def by_box(held: Slices, measure: str, boxes: int) -> list[int]:
    sums = [0] * boxes
    for row, box in enumerate(held.box):
        sums[box] += sum(held.values[measure][row][1::2])
    return sums


def graph_of(tmp_path, depth, name, *arguments) -> Flame:
    held = flame(read(recorded(tmp_path, depth, target(name), *arguments).path))
    assert held is not None
    assert held.slices is not None
    return held


def random_slices(boxes: int = 40, threads: int = 3, count: int = 128) -> Sliced:
    chance = random.Random(7)
    rows = sorted(chance.sample(range(boxes * threads * count), 3000))
    keys = np.array(rows)
    values = {measure: np.array([float(chance.randrange(0, 50)) for _ in rows]) for measure in MEASURES}
    at, rest = keys % count, keys // count
    names = [f"thread {i}" for i in range(threads)]
    return Sliced(0.5, count, names, rest // threads, rest % threads, at, values)


@pytest.mark.parametrize("depth", ["full", "triage"])
def test_over_all_slices_a_box_has_what_the_flame_graph_says(tmp_path, depth):
    held = graph_of(tmp_path, depth, "stacks")
    for measure in ("allocations", "bytes", "temporary", "live-at-exit"):
        sums = by_box(held.slices, measure, len(held.parents))
        assert sums == pytest.approx(held.own[measure], abs=2 + len(held.slices.box) / 50), measure
    assert sum(held.own["allocations"]) > 0


def test_the_highest_slice_has_the_peak(tmp_path):
    held = graph_of(tmp_path, "full", "stacks")
    over_time = slices.unpacked(held.slices)
    totals = np.bincount(over_time.slice, weights=over_time.values["peak"])
    best = over_time.slice == totals.argmax()
    sums = np.bincount(
        over_time.box[best], weights=over_time.values["peak"][best], minlength=len(held.parents)
    )
    assert sums.tolist() == held.own["peak"]


def test_packing_keeps_everything():
    held = random_slices()
    again = slices.unpacked(slices.packed(held))
    for measure in MEASURES:
        wanted = {
            key: value
            for *key, value in zip(held.box, held.thread, held.slice, held.values[measure], strict=True)
            for key in [tuple(key)]
            if value
        }
        found = {
            (box, thread, at): value
            for box, thread, at, value in zip(
                again.box, again.thread, again.slice, again.values[measure], strict=True
            )
            if value
        }
        assert found == wanted, measure


def test_of_two_slices_the_higher_one_is_in_use():
    held = Sliced(
        1.0,
        4,
        ["main thread"],
        np.array([0, 0, 1]),
        np.array([0, 0, 0]),
        np.array([0, 1, 1]),
        {measure: np.array([5.0, 2.0, 4.0]) for measure in MEASURES},
    )
    half = slices.halved(held)
    assert (half.seconds, half.count) == (2.0, 2)
    assert half.box.tolist() == [0, 1]
    assert half.values["bytes"].tolist() == [7.0, 4.0]
    assert half.values["peak"].tolist() == [2.0, 4.0], "6 in all, and not 5"


def test_threads_beyond_those_that_allocate_most_are_one(tmp_path, monkeypatch):
    monkeypatch.setattr(slices, "MOST_THREADS", 1)
    held = graph_of(tmp_path, "full", "threads", "exchange", "3", "1000")
    first, *rest = held.slices.threads
    assert first.startswith("thread ")
    assert re.fullmatch("[1-3] other threads?", rest[0]), "one may begin when another has ended"
    assert sum(by_box(held.slices, "bytes", len(held.parents))) == sum(held.own["bytes"])


@pytest.mark.parametrize("most", [9000, 4000, 500, 1])
def test_cut_to_fewer_numbers_sums_stay(most):
    held = random_slices()
    cut = slices.limited(held, most)
    assert cut.count >= FEWEST
    assert cut.seconds * cut.count == held.seconds * held.count
    for measure in MEASURES:
        if measure != "peak":
            assert cut.values[measure].sum() == held.values[measure].sum()
    if most == 1:
        assert cut.threads == ["all threads"]


def test_thinner_graphs_keep_the_sums_over_time(tmp_path):
    held = graph_of(tmp_path, "full", "stacks")
    cut = thinned(held, 3, 10_000)
    assert len(cut.parents) <= 3 < len(held.parents)
    for measure in ("allocations", "bytes", "temporary", "live-at-exit"):
        assert by_box(cut.slices, measure, len(cut.parents)) == cut.own[measure]


def test_threads_are_told_apart(tmp_path):
    held = graph_of(tmp_path, "full", "threads", "exchange", "3", "20000")
    sums = dict.fromkeys(held.slices.threads, 0)
    for thread, values in zip(held.slices.thread, held.slices.values["bytes"], strict=True):
        sums[held.slices.threads[thread]] += sum(values[1::2])
    blocks = [size / (20000 * 3001) for name, size in sums.items() if name != "main thread"]
    assert sum(blocks) == 3
    assert all(each >= 1 and each == int(each) for each in blocks), "one may begin when another has ended"


FOLLOWING = """
    #include <pthread.h>
    #include <stdlib.h>
    static void *(*volatile call)(size_t) = malloc;
    static void *work(void *bytes) { free(call((size_t)bytes)); return NULL; }
    int main(void) {
        free(call(1000000));
        for (size_t i = 1; i <= 3; ++i) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, work, (void *)(i << 20))) return 1;
            pthread_join(thread, NULL);
        }
        return 0;
    }
"""


@pytest.mark.parametrize("depth", ["full", "triage"])
def test_threads_that_follow_one_another_are_told_apart(tmp_path, depth):
    """The recorder gives a thread the number of one that has ended."""
    built = compile_c("following", FOLLOWING, ["-O1", "-fno-builtin", "-pthread"])
    made = (
        recorded(tmp_path, "full", built)
        if depth == "full"
        else recorded_as(tmp_path, built, depth=native.TRIAGE, sampler=native.SAMPLER_NONE, period_bytes=1000)
    )
    held = flame(read(made.path))
    assert held is not None
    assert held.slices is not None
    sizes = dict.fromkeys(held.slices.threads, 0)
    for thread, pairs in zip(held.slices.thread, held.slices.values["bytes"], strict=True):
        sizes[held.slices.threads[thread]] += sum(pairs[1::2])
    expected = {"thread 1": 1 << 20, "thread 2": 2 << 20, "thread 3": 3 << 20}
    assert {name: sizes.get(name) for name in expected} == pytest.approx(expected, rel=0.01)
    assert sizes["main thread"] == pytest.approx(1_000_000, rel=0.1)
