"""A recording as rows of a table that thousands of recordings share: `reap export --to fleet` writes them.

A row for each site, and one for the whole recording, whose `function` is null. Requires pyarrow.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from reap import native
from reap.allocators import elf
from reap.base import packages, redact
from reap.base.text import printable
from reap.recording.analyse.frames import Frame, names
from reap.recording.analyse.profile import profile
from reap.recording.analyse.sites import sites, telling

FORMAT = 1
"""Of these rows, in the metadata of a file under `KEY`."""
KEY = b"reap.fleet"
ENDING = ".parquet"

_MOST_STACKS = 2000
_MOST_SITES = 500


def arrow(what: str) -> ModuleType:
    """The package pyarrow, with its part for Parquet. Throws ReapError that `what` requires it."""
    packages.require("pyarrow.parquet", what, "pyarrow>=18")
    return packages.require("pyarrow", what, "pyarrow>=18")


def schema(pyarrow: ModuleType) -> Any:  # noqa: ANN401 - of a package without types
    """The columns, in order; the metadata has the version."""
    text, number = pyarrow.string(), pyarrow.float64()
    time = pyarrow.timestamp("us", tz="UTC")
    columns = [
        ("recording", text), ("service", text), ("version", text), ("host", text), ("time", time),
        ("seconds", number), ("depth", text), ("program", text), ("function", text), ("location", text),
        ("module", text), ("build_id", text), ("allocations", number), ("bytes", number),
        ("peak_bytes", number), ("temporary", number),
    ]  # fmt: skip
    return pyarrow.schema(columns, metadata={KEY: str(FORMAT).encode()})


def this_host() -> str:
    """The host of a recording without that label; in a container, its name."""
    return os.uname().nodename


def table(pyarrow: ModuleType, recording: native.Recording) -> Any:  # noqa: ANN401 - of a package without types
    """The rows of a recording.

    A recording of an earlier version has no build ids: its files are looked at for theirs. Without labels the
    service is the program's name, and the host this machine's.
    """
    header, said = recording.header(), profile(recording, [])
    labels = said.labels
    program = printable(said.processes[0].name) if said.processes else ""
    host = labels.get("host") or this_host()
    began = header.start_unix_ns
    pid = said.processes[0].pid if said.processes else 0
    common = {
        "recording": f"{host}-{began}-{pid}",
        "service": labels.get("service") or program,
        "version": labels.get("version", ""),
        "host": host,
        "time": datetime.fromtimestamp(began * 1e-9, UTC),
        "seconds": said.seconds,
        "depth": "attached" if header.attached else said.depth,
        "program": program,
    }
    whole = {
        "allocations": float(said.totals.total_objects),
        "bytes": float(said.totals.total_bytes),
        # Of a running process it is not known what was in use before.
        "peak_bytes": None if header.attached else said.totals.max_bytes.value,
        "temporary": None if header.attached else said.temporary.value * said.totals.total_objects,
    }
    rows = [common | whole, *(common | each for each in _sites(recording, attached=header.attached))]
    return pyarrow.Table.from_pylist(redact.shared(rows), schema=schema(pyarrow))


def _build(path: str, recorded: dict[str, str]) -> str:
    """The build id of a module; empty where it has none, or is not known."""
    if any(recorded.values()):
        return recorded.get(path, "")
    try:
        return elf.build_id(path) if Path(path).is_file() else ""
    except (OSError, elf.NotElfError):
        return ""


def _sites(recording: native.Recording, *, attached: bool) -> list[dict[str, Any]]:
    paths: dict[str, str] = {}
    builds: dict[str, str] = {}
    recorded = {path: build_id for path, build_id, _ in recording.modules()}

    def frames(image: int, stack: int) -> list[Frame]:
        chain = recording.frames(image, stack)
        place = telling(chain)
        paths.setdefault(names(place)[2], place[0])
        return chain

    found = sites(recording.stacks(_MOST_STACKS), frames)[:_MOST_SITES]
    for site in found:
        if site.module not in builds:
            builds[site.module] = _build(paths.get(site.module, ""), recorded)
    return [
        {
            "function": printable(site.function),
            "location": printable(site.location),
            "module": printable(site.module),
            "build_id": builds[site.module],
            "allocations": site.objects,
            "bytes": site.bytes,
            "peak_bytes": None if attached else site.live_at_peak,
            "temporary": None if attached else site.temporary,
        }
        for site in found
    ]
