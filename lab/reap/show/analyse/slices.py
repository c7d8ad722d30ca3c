"""Allocations of the boxes of a flame graph, over time and by thread.

Columns keep what is not zero, so that memory follows what happened and not boxes times threads times slices.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reap import native
from reap.base import units
from reap.recording.analyse.calls import MEASURES, Measure
from reap.show.records import Slices

COUNT = 128
"""Slices of the time, halved until what they hold is small enough."""
FEWEST = 8
MOST_THREADS = 12
"""Those that allocated most have a name; the others are one."""
MOST_NUMBERS = 400_000

Numbers = NDArray[np.int64]
Column = NDArray[np.float64]


@dataclass(frozen=True)
class Sliced:
    """Rows of a box, a thread and a slice, by all three; each is there once."""

    seconds: float
    """Of a slice."""
    count: int
    threads: list[str]
    box: Numbers
    thread: Numbers
    slice: Numbers
    values: dict[Measure, Column]


def read(recording: native.Recording, tree: native.CallTree, groups: Numbers) -> Sliced:
    """Of each node of `tree` the box in `groups`; -1: of none. Reads the events once more."""
    wanted = np.where(groups < 0, native.NO_NODE, groups).tolist()
    held = recording.slices(tree, wanted, COUNT)
    values: dict[Measure, Column] = {
        "allocations": held.allocations,
        "bytes": held.bytes,
        "peak": held.at_peak,
        "temporary": held.temporary,
        "live-at-exit": held.at_exit,
    }
    by = held.by.astype(np.int64)
    most = np.argsort(-np.bincount(by, weights=held.bytes, minlength=len(held.threads)), kind="stable")
    named = sorted(most[:MOST_THREADS].tolist())
    moved = np.full(len(held.threads), len(named), dtype=np.int64)
    moved[named] = np.arange(len(named))
    names = _names([held.threads[each] for each in named])
    left = len(held.threads) - len(named)
    return _summed(
        recording.slice_seconds(held),
        COUNT,
        [*names, f"{units.number(left, 'other thread')}"] if left else names,
        held.groups.astype(np.int64),
        moved[by] if len(by) else by,
        held.slices.astype(np.int64),
        values,
    )


def _names(threads: Sequence[tuple[int, int]]) -> list[str]:
    several = len({pid for pid, _ in threads}) > 1
    return [
        ("main thread" if number == 0 else f"thread {number}") + (f" of process {pid}" if several else "")
        for pid, number in threads
    ]


def _summed(
    seconds: float,
    count: int,
    threads: list[str],
    box: Numbers,
    thread: Numbers,
    at: Numbers,
    values: Mapping[Measure, Column],
) -> Sliced:
    """With equal rows added up and in order."""
    keys = (box * max(len(threads), 1) + thread) * count + at
    found, where = np.unique(keys, return_inverse=True)
    rest, slices = np.divmod(found, count)
    boxes, by = np.divmod(rest, max(len(threads), 1))
    sums: dict[Measure, Column] = {
        measure: np.bincount(where, weights=values[measure], minlength=len(found)).astype(np.float64)
        for measure in MEASURES
    }
    return Sliced(seconds, count, threads, boxes, by, slices, sums)


def limited(held: Sliced, most: int = MOST_NUMBERS) -> Sliced:
    """With longer slices, and then threads in one, until at most `most` numbers are not zero."""
    while held.count > FEWEST and _numbers(held) > most:
        held = halved(held)
    if _numbers(held) > most and len(held.threads) > 1:
        one = np.zeros_like(held.thread)
        held = _summed(held.seconds, held.count, ["all threads"], held.box, one, held.slice, held.values)
    return held


def _numbers(held: Sliced) -> int:
    return sum(int(np.count_nonzero(values)) for values in held.values.values())


def halved(held: Sliced) -> Sliced:
    """With slices of twice the length. What is in use of a pair is that of its higher one."""
    count = (held.count + 1) // 2
    totals = np.bincount(held.slice, weights=held.values["peak"], minlength=2 * count)
    higher = 2 * np.arange(count) + (totals[1::2] > totals[::2])
    peak = np.where(held.slice == higher[held.slice // 2], held.values["peak"], 0.0)
    return _summed(
        2 * held.seconds,
        count,
        held.threads,
        held.box,
        held.thread,
        held.slice // 2,
        {**held.values, "peak": peak},
    )


def moved(held: Sliced, to: Sequence[int]) -> Sliced:
    """With the rows of each box at another; those of -1 are dropped."""
    boxes = np.array(to, dtype=np.int64)[held.box]
    kept = boxes >= 0
    values = {measure: column[kept] for measure, column in held.values.items()}
    return _summed(
        held.seconds,
        held.count,
        held.threads,
        boxes[kept],
        held.thread[kept],
        held.slice[kept],
        values,
    )


def packed(held: Sliced) -> Slices:
    """As a record."""
    keys = held.box * max(len(held.threads), 1) + held.thread
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    spans = list(zip(begins.tolist(), [*begins[1:].tolist(), len(keys)], strict=True))
    at = held.slice.tolist()
    values: dict[str, list[list[int]]] = {}
    for measure in MEASURES:
        column = np.rint(held.values[measure]).astype(np.int64).tolist()
        rows = [(at[begin:end], column[begin:end]) for begin, end in spans]
        values[measure] = [_levels(*row, held.count) if measure == "peak" else _amounts(*row) for row in rows]
    return Slices(
        seconds=held.seconds,
        count=held.count,
        threads=held.threads,
        box=held.box[begins].tolist(),
        thread=held.thread[begins].tolist(),
        values=values,
    )


def _amounts(at: list[int], values: list[int]) -> list[int]:
    return [number for pair in zip(at, values, strict=True) if pair[1] for number in pair]


def _levels(at: list[int], values: list[int], count: int) -> list[int]:
    """Only where it changes; between slices that are there, and behind them, it is 0."""
    found: list[int] = []
    last, expected = 0, 0
    for place, value in zip(at, values, strict=True):
        if place != expected and last:
            found += (expected, 0)
            last = 0
        if value != last:
            found += (place, value)
        last, expected = value, place + 1
    return [*found, expected, 0] if last and expected < count else found


def unpacked(held: Slices) -> Sliced:
    """Inverse of `packed`, up to rounding."""
    columns = {measure: _column(held, measure) for measure in MEASURES}
    rows = np.concatenate([row for row, _, _ in columns.values()])
    at = np.concatenate([at for _, at, _ in columns.values()])
    values: dict[Measure, Column] = {}
    begin = 0
    for measure, (row, _, amounts) in columns.items():
        values[measure] = np.zeros(len(rows))
        values[measure][begin : begin + len(row)] = amounts
        begin += len(row)
    box, thread = np.array(held.box, dtype=np.int64), np.array(held.thread, dtype=np.int64)
    return _summed(held.seconds, held.count, held.threads, box[rows], thread[rows], at, values)


def _column(held: Slices, measure: Measure) -> tuple[Numbers, Numbers, Numbers]:
    """Rows, slices and values that are not zero."""
    lists = held.values[measure]
    flat = np.fromiter(itertools.chain.from_iterable(lists), dtype=np.int64)
    row = np.repeat(np.arange(len(lists)), [len(each) // 2 for each in lists])
    at, amounts = flat[::2], flat[1::2]
    if measure != "peak":
        return row, at, amounts
    last = np.append(row[1:] != row[:-1], True)[: len(row)]
    lengths = np.where(last, held.count, np.append(at[1:], 0)[: len(row)]) - at
    lengths[amounts == 0] = 0
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(row, lengths), np.repeat(at, lengths) + within, np.repeat(amounts, lengths)
