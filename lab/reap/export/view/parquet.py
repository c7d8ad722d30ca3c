"""Apache Parquet: a table of events and one of stacks, for data frames and databases. Requires pyarrow."""

from types import ModuleType
from typing import IO

from reap import native
from reap.base.text import printable
from reap.recording import rows
from reap.recording.analyse.calls import Calls, Measure
from reap.recording.analyse.columns import CALL_NAMES, KINDS, Columns, each_batch

_COLUMNS: dict[str, Measure] = {
    "allocations": "allocations",
    "bytes": "bytes",
    "peak_bytes": "peak",
    "temporary": "temporary",
    "exit_bytes": "live-at-exit",
}
"""What was allocated with exactly this stack."""


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
        for name, measure in _COLUMNS.items()
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
    with arrow.parquet.ParquetWriter(stream, schema, compression="zstd") as writer:

        def take(columns: Columns) -> None:
            nonlocal count
            arrays = []
            for field in schema:
                values = columns[field.name]
                if field.name in words:
                    numbers = arrow.array(values.astype("int8"))
                    arrays.append(arrow.DictionaryArray.from_arrays(numbers, words[field.name]))
                elif field.name == "stack":
                    arrays.append(arrow.array(values, mask=values < 0))
                else:
                    arrays.append(arrow.array(values))
            count += len(columns["time_ns"])
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))

        each_batch(recording, tree, take)
    return count
