"""What of the options of `reap compare` does not go with a server under load."""

from collections.abc import Mapping
from typing import Any

import click

from reap.base.errors import ExitCode, ReapError
from reap.commandline.experiments import written
from reap.server.records import PORT, Server

_FOR_PROGRAMS = (
    *("against", "against_env", "against_dir", "scan", "levels", "naive", "naive_env", "requests"),
    "profile",
)


def require_fitting(context: click.Context, server: Server, given: Mapping[str, Any]) -> None:
    """Throws ReapError for options of the verb that are for programs that end by themselves."""
    if stray := written(context, _FOR_PROGRAMS):
        raise ReapError(
            f"{min(stray)} does not go with --server",
            "a server is compared under allocators alone: leave it out",
            ExitCode.USAGE,
        )
    if given["pairing"] in ("simultaneous", "sliced") and not server.has_port:
        raise ReapError(
            f"servers that run at the same time need ports of their own, and {PORT} is not in both "
            "--server and --load",
            f"write {PORT} for the port in both, or leave out --pairing",
            ExitCode.USAGE,
        )
