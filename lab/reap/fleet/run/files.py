"""Files to read, and what is in them: batches of rows, each file's whole or not at all."""

import glob
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from reap.base.errors import ExitCode, ReapError
from reap.fleet.run import remote
from reap.recording import rows

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HINT = "reap export --to fleet RECORDING -o FOLDER writes such files"
ROWS = 50_000
"""Of a batch."""
MOST = 1000
"""Groups and sites of an answer: what is behind them is little."""


class UnreadableError(Exception):
    """A file has no rows that this reap reads; the text says why."""


def named(paths: Sequence[str]) -> list[Path | remote.Object]:
    """The files that folders, patterns and names stand for, in a fixed order. Throws ReapError."""
    found: dict[Path | remote.Object, None] = {}
    for path in paths:
        found.update(dict.fromkeys(_named(path)))
    return sorted(found, key=str)


def _named(path: str) -> Sequence[Path | remote.Object]:
    if path.startswith(remote.SCHEME):
        objects = remote.listed(path)
        if not objects:
            raise ReapError(f"there is no {rows.ENDING} file in {path}", _HINT)
        return objects
    if _SCHEME.match(path):
        raise ReapError(
            f"{path} cannot be read: of stores on the network, reap fleet knows {remote.SCHEME}",
            f"copy it first, for example with: rclone copy {path} FOLDER, or mount it",
            ExitCode.USAGE,
        )
    if Path(path).is_dir():
        files = [each for each in Path(path).rglob(f"*{rows.ENDING}") if each.is_file()]
        if not files:
            raise ReapError(f"there is no {rows.ENDING} file in the folder {path}", _HINT)
        return files
    if Path(path).exists():
        return [Path(path)]
    matched = [Path(each) for each in glob.glob(path, recursive=True) if Path(each).is_file()]  # noqa: PTH207 - of any root
    if not matched:
        raise ReapError(f"{path} does not exist, and matches no file", _HINT, ExitCode.INTERNAL)
    return matched


def batches(pyarrow: ModuleType, opened: Callable[[], Any]) -> Iterator[Any]:
    """The rows of a file, as tables. Throws UnreadableError before the first.

    `opened` gives its path, or an open file of pyarrow; may throw OSError.
    """
    try:
        # Without pre_buffer, by which each small file would wait for another thread.
        options = {"page_checksum_verification": True, "pre_buffer": False}
        with pyarrow.parquet.ParquetFile(opened(), **options) as file:
            _require(pyarrow, file.schema_arrow)
            if file.metadata.num_rows <= ROWS:
                yield file.read(use_threads=False)
                return
            for _ in file.iter_batches(ROWS, use_threads=False):
                pass  # so that what is damaged behind the first rows leaves none of them
            for batch in file.iter_batches(ROWS, use_threads=False):
                yield pyarrow.Table.from_batches([batch])
    except OSError as error:
        raise UnreadableError(error.strerror or _line(error)) from error
    except (pyarrow.ArrowException, ValueError) as error:
        raise UnreadableError(f"it is damaged or cut short: {_line(error)}") from error


def _require(pyarrow: ModuleType, found: Any) -> None:  # noqa: ANN401 - of a package without types
    version = (found.metadata or {}).get(rows.KEY)
    if version is None:
        raise UnreadableError("it is a Parquet file, but has no rows of reap export --to fleet")
    if version != str(rows.FORMAT).encode():
        number = version.decode(errors="replace")
        raise UnreadableError(f"its format has version {number}, this reap reads version {rows.FORMAT}")
    if not found.equals(rows.schema(pyarrow)):
        raise UnreadableError("its columns are not those of reap export --to fleet")


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
