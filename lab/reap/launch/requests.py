"""The file that libreap-requests.so writes: made before a program starts, and read when it has ended."""

from pathlib import Path

import msgspec

from reap import native
from reap.base.errors import ReapError
from reap.base.files import native_name
from reap.launch.records import RequestTimes

VARIABLE = native.REQUESTS_ENV
"""By which the preload finds its file."""


def prepare(path: Path) -> None:
    """Makes the file for one run. Throws ReapError if there is no room for it."""
    try:
        native.create_requests(native_name(path))
    except OSError as error:
        raise ReapError(
            f"the file for request times, {path}, cannot be written: {error.strerror}",
            "set TMPDIR to a folder with room",
        ) from error


def read(path: Path) -> RequestTimes:
    """Reads what the run left behind, the file once; takes some eight bytes of memory a request.

    A program that removes the file, or writes over it, has no requests, or those that still make sense.
    """
    try:
        times = native.read_requests(native_name(path))
    except (FileNotFoundError, native.BadTraceError):
        return RequestTimes(count=0, per_second=0.0, p50_ns=0, p99_ns=0, p999_ns=0, max_ns=0)
    return msgspec.convert(times, RequestTimes, from_attributes=True)
