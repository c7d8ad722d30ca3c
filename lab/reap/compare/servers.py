"""Options of `reap compare` that must not be used with a server under load."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import click
import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.commandline.written import written
from reap.experiment.spec import Variant
from reap.server import ready
from reap.server.records import PORT, Server

_FOR_PROGRAMS = ("scan", "levels", "naive", "litter", "witness")


def require_fitting(context: click.Context, server: Server, given: Mapping[str, Any]) -> None:
    """Throws ReapError for options of the verb that are for programs that end by themselves."""
    if stray := written(context, _FOR_PROGRAMS):
        raise ReapError(
            f"{min(stray)} does not go with --server",
            "a server is compared under allocators or with other commands (--against): leave it out",
            ExitCode.USAGE,
        )
    if given["pairing"] in ("simultaneous", "sliced") and not server.has_port:
        raise ReapError(
            f"servers that run at the same time need ports of their own, and {PORT} is not in all of "
            "--server, --load and --against",
            f"write {PORT} for the port in each, or leave out --pairing",
            ExitCode.USAGE,
        )


def beside(server: Server, others: Sequence[Variant]) -> Server:
    """Server beside which these other commands are loaded: if one has a port that is fixed, each runs alone.

    Throws ReapError for a command that does not say where it listens.
    """
    commands = [shlex.join(each.program.command) for each in others]
    fixed = [each for each in commands if PORT not in each]
    awaited = ready.parsed(server.ready, has_port=True)
    if fixed and not awaited.port and not awaited.line:
        raise ReapError(
            f"--ready {server.ready} does not say on which port, and there is no {PORT} in {fixed[0]}, "
            "which --against names",
            f"write {PORT} for the port in each command",
            ExitCode.USAGE,
        )
    return msgspec.structs.replace(server, has_port=server.has_port and not fixed)
