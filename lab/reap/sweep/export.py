"""All runs of a sweep as one Parquet file, for DuckDB and data frames. Requires pyarrow."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from reap.base import redact
from reap.base.files import written_safely
from reap.experiment.records import Run
from reap.recording.rows import arrow as pyarrow
from reap.sweep.records import Done

_BATCH = 10_000
"""Rows that are held at once."""


def require() -> None:
    """Throws ReapError where pyarrow is not installed: before anything runs."""
    pyarrow("--export FILE.parquet")


def write(path: Path, blocks: Iterable[Done], *, force: bool) -> None:
    """A row for each run, with the facts of its machine. Throws ReapError."""
    arrow = pyarrow("--export FILE.parquet")
    word = arrow.dictionary(arrow.int32(), arrow.string())
    kinds = {str: word, int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    with written_safely(path, force=force) as stream:
        schema = arrow.schema([(name, kinds[kind]) for name, kind in _COLUMNS.items()])
        with arrow.parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
            for rows in _batches(_rows(blocks)):
                writer.write_table(arrow.Table.from_pylist(redact.shared(rows), schema=schema))


FORMATS = {".parquet": write}


_COLUMNS: dict[str, type] = {
    "cell": str,
    "kind": str,
    "host": str,
    "worker": str,
    "round": int,
    "allocator": str,
    "origin": str,
    "level": str,
    "control": bool,
    "together": bool,
    "cpu_seconds": float,
    "wall_seconds": float,
    "peak_resident": int,
    "minor_faults": int,
    "major_faults": int,
    "status": int,
    "output": str,
    "started": float,
    "processor": str,
    "cores": int,
    "kernel": str,
    "system": str,
    "libc": str,
    "huge_pages": str,
    "architecture": str,
    "reap_version": str,
}


def _rows(blocks: Iterable[Done]) -> Iterator[dict[str, Any]]:
    for done in blocks:
        for run in done.runs:
            yield _row(done, run)


def _row(done: Done, run: Run) -> dict[str, Any]:
    facts, here, outcome = done.facts, done.facts.machine, run.outcome
    return {
        "cell": done.block.cell,
        "kind": done.block.kind,
        "host": facts.host,
        "worker": facts.worker,
        "round": done.block.round,
        "allocator": run.cell.allocator,
        "origin": facts.allocators.get(run.cell.allocator, ""),
        "level": run.cell.level,
        "control": run.cell.control,
        "together": run.together,
        "cpu_seconds": outcome.cpu_ns / 1e9,
        "wall_seconds": outcome.wall_ns / 1e9,
        "peak_resident": outcome.peak_resident,
        "minor_faults": outcome.minor_faults,
        "major_faults": outcome.major_faults,
        "status": outcome.status,
        "output": outcome.stdout_digest,
        "started": run.started,
        "processor": here.processor,
        "cores": here.cores,
        "kernel": here.kernel,
        "system": here.system,
        "libc": here.libc,
        "huge_pages": here.huge_pages,
        "architecture": facts.architecture,
        "reap_version": facts.reap_version,
    }


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    held: list[dict[str, Any]] = []
    for row in rows:
        held.append(row)
        if len(held) == _BATCH:
            yield held
            held = []
    if held:
        yield held
