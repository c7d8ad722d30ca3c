"""Files of rows that are known, as `reap export --to fleet` writes them, and `reap fleet` in this process."""

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from reap.base.errors import ReapError
from reap.fleet import command
from reap.recording import rows

SCHEMA = rows.schema(pa)


def table(
    sites: dict[str, float],
    *,
    host: str = "a",
    version: str = "1",
    service: str = "shop",
    number: int = 0,
    seconds: float = 2.0,
    peak: float | None = 100.0,
    name: str = "",
    module: str = "shop",
    line: int = 1,
):
    """One recording: bytes by function; each block is of 10 bytes."""
    common = {
        "recording": name or f"{host}-{version}-{service}-{number}",
        "service": service,
        "version": version,
        "host": host,
        "time": datetime(2026, 11, 1 + number % 28, tzinfo=UTC),
        "seconds": seconds,
        "depth": "full",
        "program": "shop",
    }
    whole = {"allocations": sum(sites.values()) / 10, "bytes": sum(sites.values()), "peak_bytes": peak}
    each = [
        {
            "function": function,
            "location": f"shop.c:{line}",
            "module": module,
            "build_id": f"b{version}",
            "allocations": size / 10,
            "bytes": size,
            "peak_bytes": None if peak is None else size / 4,
        }
        for function, size in sites.items()
    ]
    return pa.Table.from_pylist([common | whole, *(common | one for one in each)], schema=SCHEMA)


def write(path: Path, *tables, schema=SCHEMA) -> Path:
    """A file of these recordings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    joined = pa.concat_tables(tables).cast(schema).replace_schema_metadata(schema.metadata)
    pq.write_table(joined, path, compression="zstd", write_page_checksum=True)
    return path


@dataclass(frozen=True)
class Done:
    """What a call of `reap fleet` came to."""

    returncode: int
    stdout: str
    stderr: str


def fleet(folder: Path, *words: str) -> Done:
    """`reap fleet` in a folder, without the time that a process takes to start."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(command.fleet, words, standalone_mode=False)
    if isinstance(done.exception, ReapError):
        return Done(done.exception.code, done.stdout, f"{done.stderr}{done.exception}")
    if isinstance(done.exception, click.UsageError):
        return Done(2, done.stdout, done.exception.format_message())
    if done.exception is not None:
        raise done.exception
    return Done(done.return_value, done.stdout, done.stderr)
