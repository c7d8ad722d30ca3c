"""Rows for `reap fleet`: a small Parquet file for each recording."""

from pathlib import Path
from types import ModuleType
from typing import IO

from reap import native
from reap.recording import rows


def require() -> None:
    """Throws ReapError where pyarrow is not installed: before the recording is read."""
    _arrow()


def _arrow() -> ModuleType:
    return rows.arrow("--to fleet")


def file_in(folder: Path, recording: native.Recording) -> Path:
    """A name in a folder that many fill: no two recordings have the same."""
    images = recording.images()
    pid = images[0].pid if images else 0
    host = dict(recording.labels()).get("host") or rows.this_host()
    name = "".join(each if each.isalnum() or each in "-._" else "_" for each in host)
    return folder / f"{name}-{recording.header().start_unix_ns}-{pid}{rows.ENDING}"


def write(stream: IO[bytes], recording: native.Recording) -> None:
    """The rows of one recording."""
    arrow = _arrow()
    arrow.parquet.write_table(
        rows.table(arrow, recording), stream, compression="zstd", write_page_checksum=True
    )
