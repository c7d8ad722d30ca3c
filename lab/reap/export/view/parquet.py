"""Apache Parquet: a table of events and one of stacks, for data frames and databases. Requires pyarrow."""

from types import ModuleType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from reap import native
from reap.base.text import printable
from reap.recording import rows
from reap.recording.analyse.calls import COLUMNS, Calls
from reap.recording.analyse.columns import CALL_NAMES, KINDS, Columns, each_batch

_MANY = {"time_ns", "address"}
"""Columns of which nearly every value is another: kept as differences, as no dictionary would help."""
_GROUP = 1 << 20
"""Rows of a group, which readers take at once: some 5 MB of the file."""


def require() -> None:
    """Throws ReapError where pyarrow is not installed: before the recording is read."""
    _arrow()


def _arrow() -> ModuleType:
    return rows.arrow("--to parquet")


def write_stacks(stream: IO[bytes], tree: Calls) -> None:
    """A row for each stack that allocated: `stack` as events have it, `frames` from the innermost on."""
    arrow = _arrow()
    nodes = [node for node, count in enumerate(tree.own["allocations"]) if count > 0]
    labels = [printable(place.function) for place in tree.places]
    where = [printable(place.where) for place in tree.places]
    paths = [tree.path(node) for node in nodes]
    words = arrow.list_(arrow.dictionary(arrow.int32(), arrow.string()))
    measured = {
        name: arrow.array([tree.own[measure][node] for node in nodes], arrow.float64())
        for name, measure in COLUMNS.items()
    }
    table = arrow.table(
        {
            "stack": arrow.array(nodes, arrow.int64()),
            "process": arrow.array([labels[path[0]] for path in paths], arrow.string()),
            "frames": _lists(arrow, [path[:0:-1] for path in paths], labels, words),
            "locations": _lists(arrow, [path[:0:-1] for path in paths], where, words),
            **measured,
        }
    )
    arrow.parquet.write_table(table, stream, compression="zstd")


def _lists(arrow: ModuleType, paths: list[list[int]], names: list[str], kind: object) -> object:
    """Lists of names, each of which the file has once."""
    offsets = [0]
    for path in paths:
        offsets.append(offsets[-1] + len(path))
    indices = arrow.array([place for path in paths for place in path], arrow.int32())
    values = arrow.DictionaryArray.from_arrays(indices, arrow.array(names, arrow.string()))
    return arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), values, type=kind)


def write_events(stream: IO[bytes], recording: native.Recording, tree: native.CallTree) -> int:
    """A row for each event, in the order of time; how many. Memory is bounded by a batch."""
    arrow = _arrow()
    word = arrow.dictionary(arrow.int8(), arrow.string())
    schema = arrow.schema(
        [
            ("time_ns", arrow.int64()),
            ("kind", word),
            ("call", word),
            ("pid", arrow.uint32()),
            ("thread", arrow.uint32()),
            ("address", arrow.uint64()),
            ("size", arrow.uint64()),
            ("stack", arrow.int64()),
            ("weight", arrow.float64()),
        ]
    )
    words = {"kind": arrow.array(KINDS), "call": arrow.array(CALL_NAMES)}
    count = 0
    few = [field.name for field in schema if field.name not in _MANY]
    delta = dict.fromkeys(_MANY, "DELTA_BINARY_PACKED")
    options = {"compression": "zstd", "use_dictionary": few, "column_encoding": delta}
    with arrow.parquet.ParquetWriter(stream, schema, **options) as writer:

        def take(columns: Columns) -> None:
            nonlocal count
            arrays = []
            for field in schema:
                values = columns[field.name]
                if field.name in words:
                    numbers = arrow.array(values.view("int8"))
                    words_of = arrow.DictionaryArray.from_arrays  # every number has its word
                    arrays.append(words_of(numbers, words[field.name], safe=False))
                elif field.name == "stack":
                    arrays.append(_with_gaps(arrow, values))
                else:
                    arrays.append(arrow.array(values))
            count += len(columns["time_ns"])
            batch = arrow.RecordBatch.from_arrays(arrays, schema=schema)
            writer.write_batch(batch, row_group_size=_GROUP)

        each_batch(recording, tree, take)
    return count


def _with_gaps(arrow: ModuleType, values: NDArray[Any]) -> object:
    """Without a copy: null where a number is below 0."""
    valid = np.packbits(values >= 0, bitorder="little")
    return arrow.Array.from_buffers(
        arrow.int64(), len(values), [arrow.py_buffer(valid), arrow.py_buffer(values)]
    )
