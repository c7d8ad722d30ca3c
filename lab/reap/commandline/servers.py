"""The options for a server under load, in place of a command that ends by itself, and what they say."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from reap.allocators.records import Allocator
from reap.base.errors import ExitCode, ReapError
from reap.commandline import words
from reap.commandline.sections import section
from reap.commandline.written import written as written_of
from reap.experiment.once import service_alone
from reap.launch import program as programs
from reap.launch.program import Program
from reap.launch.records import Launch
from reap.server import ready
from reap.server.records import PORT, READY_WITHIN, Server
from reap.server.serve import under_load as under_load_again

NAMES = ("server", "ready", "load", "stop", "loads", "requests_per_load")

_HEADING = "A server under load (with --server)"

_Verb = TypeVar("_Verb", bound=Callable[..., Any])


def options(verb: _Verb) -> _Verb:
    """Gives a verb the options of a server; it hands them to `asked`."""
    decorate = section(
        _HEADING,
        click.option(
            "--server",
            metavar="CMD",
            help="Measure this server under load, in place of CMD; {port} is a free port.",
        ),
        click.option(
            "--ready",
            metavar="WHEN",
            help="Loaded once it accepts connections (tcp, tcp:PORT), answers a page "
            "(http:/PATH, http:PORT/PATH) or has written TEXT (line:TEXT); without PORT on {port}. "
            f"By default it has {READY_WITHIN:g} seconds (--timeout).",
        ),
        click.option(
            "--load",
            metavar="CMD",
            help="Makes the load, and ends; not measured. {port} is the server's.",
        ),
        click.option(
            "--stop",
            default="TERM",
            show_default=True,
            metavar="SIGNAL",
            help="Signal that ends it; it is killed if it has not ended after 5 seconds.",
        ),
    )
    return decorate(verb)


def load_options(verb: _Verb) -> _Verb:
    """Gives a verb that measures each load those of the loads, too."""
    decorate = section(
        _HEADING,
        click.option(
            "--loads",
            type=click.IntRange(min=1),
            help="Measured loads of each start, after one that warms it up. By default as many as make "
            "intervals narrowest in the time that there is, or 3 (--runs, --for, `reap tune`).",
        ),
        click.option(
            "--requests-per-load",
            type=click.IntRange(min=1),
            help="Requests that a load makes. By default its own count, where it reports one "
            "that reap knows (ab, memcslap, memtier_benchmark, oha, pgbench, redis-benchmark, wrk).",
        ),
    )
    return decorate(verb)


def asked(context: click.Context, given: dict[str, Any]) -> Server | None:
    """Takes these options out of `given`, and makes the server its `command`; None without --server.

    Throws ReapError for options that do not go together, and for commands that cannot be run.
    """
    server, when, load, stop, loads, requests = (given.pop(name, None) for name in NAMES)
    written = written_of(context, NAMES)
    if given.get("resume"):
        return None  # which takes none of them, and says so
    if server is None:
        if written:
            raise ReapError(
                f"{min(written)} requires --server",
                "--server 'redis-server --port {port}' --ready tcp --load 'redis-benchmark -p {port} -q'",
                ExitCode.USAGE,
            )
        return None
    if given["command"]:
        raise ReapError(
            f"--server is the command to measure, but another one is given: {' '.join(given['command'])}",
            "leave out what is behind --; what makes the load belongs to --load",
            ExitCode.USAGE,
        )
    if not load or not when:
        raise ReapError(
            f"--server requires {'--load' if not load else '--ready'}",
            "--load CMD makes the load and ends, as 'redis-benchmark -p {port} -q'"
            if not load
            else "--ready tcp waits until the server accepts connections on {port}",
            ExitCode.USAGE,
        )
    ready.parsed(when, has_port=PORT in server)
    given["command"] = _split("--server", server)
    return Server(
        ready=when,
        load=programs.resolve(list(_split("--load", load)), directory=str(Path.cwd())),
        stop=_signal(stop),
        ready_within=context.params["timeout"] or READY_WITHIN,
        has_port=PORT in server and PORT in load,
        loads=loads or 0,
        requests=requests or 0,
    )


@contextlib.contextmanager
def under_load(
    server: Server,
    program: Program,
    chosen: Allocator,
    dressed: Callable[[Launch], Launch] = lambda launch: launch,
) -> Iterator[int]:
    """The server on a free port and under this allocator, loaded again and again; yields its busiest process.

    `dressed` changes how the server is launched. Throws ReapError where the server or a load fails.
    """
    launch = Launch(
        argv=program.command,
        program=program.path,
        directory=str(Path.cwd()),
        allocator=chosen.library,
        environment=chosen.environment,
    )
    with under_load_again(service_alone(server, dressed(launch), None)) as pid:
        yield pid


def _split(option: str, text: str) -> tuple[str, ...]:
    found = words.split(option, text)
    if not found:
        raise ReapError(f"{option} names no command", f"{option} CMD", ExitCode.USAGE)
    return tuple(found)


def _signal(text: str) -> int:
    name = text.upper().removeprefix("SIG")
    number = int(text) if text.isdecimal() else int(getattr(signal, f"SIG{name}", -1))
    try:
        return int(signal.Signals(number))
    except ValueError as error:
        raise ReapError(f"--stop {text} is no signal", "--stop TERM, INT or QUIT", ExitCode.USAGE) from error
