"""Runs the programs that fetch sources, apt and tar, without a terminal and for ten minutes at most."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from reap.api import ExitCode, ReapError, units

_PATIENCE = 600.0
"""Seconds to fetch anything."""


def run(
    argv: Sequence[str],
    package: str,
    *,
    work: Path | None = None,
    environment: Mapping[str, str] | None = None,
    late: type[ReapError] = ReapError,
) -> subprocess.CompletedProcess[str]:
    """The outcome, whatever it is. Raises `late` where fetching `package` takes too long."""
    try:
        return subprocess.run(
            argv,
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise late(
            f"the source of {package} did not arrive within {units.about(_PATIENCE)}",
            "try again",
            ExitCode.TIMED_OUT,
        ) from None
