"""`reap allocators check`: whether allocators that are found really serve programs, one after another."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from reap.allocators import smoke
from reap.allocators.process import Runner
from reap.allocators.records import Allocator
from reap.allocators.smoke import Checked
from reap.base.errors import ReapError


def check(allocators: Iterable[Allocator]) -> Iterator[Checked]:
    """Checks each, a second or so apart. Throws ReapError if the programs cannot be built or run."""
    try:
        with tempfile.TemporaryDirectory(prefix="reap-check-") as folder:
            work = Path(folder)
            for each in allocators:
                yield smoke.check(each, work, Runner(work / f"{each.name}.log"))
    except OSError as error:
        raise ReapError(
            f"allocators cannot be checked: {error.strerror or error}", "free some space, or correct TMPDIR"
        ) from error
