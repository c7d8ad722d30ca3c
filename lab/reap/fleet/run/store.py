"""The rows of all files in a database of DuckDB, in a temporary file: memory is bounded, whatever they are.

The database opens no file but its own, and extensions are never installed.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from reap.base import packages
from reap.base.errors import ReapError
from reap.fleet.records import Skipped
from reap.fleet.run import remote
from reap.fleet.run.files import ROWS, UnreadableError, batches
from reap.recording import rows

_MEMORY = "512MB"
_THREADS = 4

_TABLES = """
create table recordings (number integer, service varchar, version varchar, host varchar, time timestamptz,
    seconds double, depth varchar, allocations double, bytes double, peak_bytes double);
create table sites (number integer, function varchar, location varchar, module varchar, build_id varchar,
    allocations double, bytes double, peak_bytes double);
"""
_RECORDINGS = """
insert into recordings select number, service, version, host, time, seconds, depth, allocations, bytes,
    peak_bytes from batch where function is null
"""
_SITES = """
insert into sites select number, function, location, module, build_id, allocations, bytes, peak_bytes
from batch where function is not null
"""


class Store:
    """Rows, each recording once; `query` answers questions of them."""

    def __init__(self, folder: Path) -> None:
        self._duckdb = packages.require("duckdb", "reap fleet", "duckdb>=1.2")
        self._arrow = rows.arrow("reap fleet")
        settings = {
            "memory_limit": _MEMORY,
            "threads": min(_THREADS, len(os.sched_getaffinity(0))),
            "temp_directory": str(folder),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self._database = self._duckdb.connect(str(folder / "fleet.duckdb"), config=settings)
        self._database.execute("set timezone = 'UTC'")
        self._database.execute(_TABLES)
        self._numbers: dict[str, int] = {}
        self._pending: list[Any] = []
        self._waiting = 0
        self.duplicates = 0

    def close(self) -> None:
        """Frees its memory; its file is its folder's."""
        self._database.close()

    def read(
        self, files: Sequence[Path | remote.Object], seen: Callable[[int], None], keep: Callable[[Any], None]
    ) -> list[Skipped]:
        """Reads all files; returns those that could not be. `seen` gets their number, `keep` the rows.

        Throws ReapError where there is no room for them.
        """
        skipped = []
        for number, (file, opened) in enumerate(remote.ahead(files)):
            try:
                self._read(opened, keep)
            except UnreadableError as error:
                skipped.append(Skipped(file=str(file), why=str(error)))
            seen(number + 1)
        self._flush()
        return skipped

    def query(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of an answer. Throws ReapError where it takes too much room."""
        with self._in_bounds():
            found: list[tuple[Any, ...]] = self._database.execute(text, values).fetchall()
            return found

    def _read(self, opened: Callable[[], Any], keep: Callable[[Any], None]) -> None:
        own: set[str] = set()
        again: set[str] = set()
        for found in batches(self._arrow, opened):
            for name in found["recording"].unique().to_pylist():
                if name in self._numbers and name not in own:
                    again.add(name)
                else:
                    self._numbers.setdefault(name, len(self._numbers))
                    own.add(name)
            table = found
            if again:
                others = self._arrow.array(sorted(again), self._arrow.string())
                compute = self._arrow.compute
                table = found.filter(compute.invert(compute.is_in(found["recording"], value_set=others)))
            keep(table)
            self._pending.append(table)
            self._waiting += table.num_rows
            if self._waiting >= ROWS:
                self._flush()
        self.duplicates += len(again)

    def _flush(self) -> None:
        if not self._waiting:
            return
        table = self._arrow.concat_tables(self._pending)
        self._pending, self._waiting = [], 0
        column = table["recording"].combine_chunks().dictionary_encode()
        numbers = self._arrow.array(
            [self._numbers[name] for name in column.dictionary.to_pylist()], self._arrow.int32()
        )
        table = table.append_column("number", numbers.take(column.indices))
        with self._in_bounds():
            self._database.register("batch", table)
            self._database.execute(_RECORDINGS)
            self._database.execute(_SITES)
            self._database.unregister("batch")

    @contextlib.contextmanager
    def _in_bounds(self) -> Iterator[None]:
        try:
            yield
        except (self._duckdb.OutOfMemoryException, self._duckdb.IOException) as error:
            raise ReapError(
                f"there is no room for the totals: {str(error).partition(chr(10))[0]}",
                "set TMPDIR to a folder with more room",
            ) from error


@contextlib.contextmanager
def opened() -> Iterator[Store]:
    """An empty one, whose file is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="reap-fleet-") as folder:
        store = Store(Path(folder))
        try:
            yield store
        finally:
            store.close()
