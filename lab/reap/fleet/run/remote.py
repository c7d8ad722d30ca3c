"""Objects of Amazon S3 and of S3-compatible stores: listed, and fetched ahead in parallel.

Credentials, region and endpoint are those of the environment and of ~/.aws. Nothing is written.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reap.base.errors import ReapError
from reap.recording import rows

SCHEME = "s3://"
_AT_ONCE = 16
"""Requests: an object takes two, of some tens of milliseconds each."""
_WHOLE = 4 << 20
"""Bytes up to which an object is fetched as a whole; of a larger one, the parts that are read."""
_PATTERN = frozenset("*?[")


@dataclass(frozen=True)
class Object:
    """A file in a bucket."""

    path: str
    size: int = field(compare=False)
    _store: Any = field(compare=False, repr=False)

    def __str__(self) -> str:
        """As it is given on the command line."""
        return f"{SCHEME}{self.path}"

    def open(self) -> Any:  # noqa: ANN401 - of a package without types
        """A file of pyarrow. Throws OSError."""
        if self.size > _WHOLE:
            return self._store.open_input_file(self.path)
        with self._store.open_input_stream(self.path, compression=None) as stream:
            return rows.arrow("reap fleet").BufferReader(stream.read())


def listed(url: str) -> list[Object]:
    """The objects that a bucket, a prefix, a name or a pattern stands for. Throws ReapError."""
    arrow = rows.arrow(f"reap fleet {url}")
    path = url.removeprefix(SCHEME).rstrip("/")
    try:
        return _listed(_store(path.partition("/")[0]), path)
    except (OSError, arrow.ArrowException) as error:
        raise ReapError(
            f"{url} cannot be listed: {str(error).strip().partition(chr(10))[0]}",
            "access is by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or by ~/.aws; AWS_ENDPOINT_URL "
            "names another store than Amazon's",
        ) from error


def ahead(files: "Sequence[Path | Object]") -> "Iterator[tuple[Path | Object, Callable[[], Any]]]":
    """Each with what opens it; some objects are fetched while those before them are read."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        waiting: deque[tuple[Path | Object, Callable[[], Any]]] = deque()
        for each in files:
            opened = pool.submit(each.open).result if isinstance(each, Object) else each.absolute
            waiting.append((each, opened))
            if len(waiting) > 2 * _AT_ONCE:
                yield waiting.popleft()
        yield from waiting


def _listed(store: Any, path: str) -> list[Object]:  # noqa: ANN401 - of a package without types
    from pyarrow.fs import FileSelector

    if _PATTERN & set(path):
        plain = path[: min(path.index(each) for each in _PATTERN if each in path)]
        inside = FileSelector(plain.rpartition("/")[0] or plain, recursive=True, allow_not_found=True)
        found = [each for each in store.get_file_info(inside) if fnmatchcase(each.path, path)]
    else:
        found = [store.get_file_info(path)]
        if not found[0].is_file:
            inside = FileSelector(path, recursive=True, allow_not_found=True)
            found = [each for each in store.get_file_info(inside) if each.path.endswith(rows.ENDING)]
    return [Object(each.path, each.size, store) for each in found if each.is_file]


def _store(bucket: str) -> Any:  # noqa: ANN401 - of a package without types
    from pyarrow.fs import S3FileSystem, resolve_s3_region

    environment = os.environ
    place = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL", "")
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if not place and not region:
        region = resolve_s3_region(bucket)
    scheme, _, endpoint = place.rpartition("://")
    return S3FileSystem(region=region, scheme=scheme or "https", endpoint_override=endpoint or None)
