"""`reap load`: requests at a fixed rate."""

from typing import cast, get_args
from urllib.parse import urlsplit

import click

from reap.base.errors import ExitCode, ReapError
from reap.load import analyse, words
from reap.load import run as running
from reap.load.records import Asked, Protocol

_EXAMPLE = "reap load --rate 1000 redis://localhost:6379 'SET key:{n} value'"


@click.command()
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), required=True, help="Requests per second."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="Time in which all requests are due.",
)
@click.option(
    "--connections",
    type=click.IntRange(min=1, max=500),
    default=32,
    show_default=True,
    help="Each waits for its answer; a request that finds none free waits, and that counts.",
)
@click.option(
    "--keys",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="{n} in a request counts from 0 to below this, then starts again at 0.",
)
@click.argument("url")
@click.argument("requests", nargs=-1, metavar="[REQUEST]...")
def load(
    rate: float, seconds: float, connections: int, keys: int, url: str, requests: tuple[str, ...]
) -> int:
    """Make requests at a fixed rate, and print their latency.

    An open loop: requests are due at equal intervals, whether or not earlier ones are answered, and latency
    counts from when a request was due. So a server that stalls is charged for every request that it delayed
    (no coordinated omission). Made for `--load` of `reap compare --server`; it loads any server.

    URL is http://HOST:PORT/PATH, redis://HOST:PORT or line://HOST:PORT. REQUESTs are taken in turns: paths of
    HTTP (default: that of URL), Redis commands, or for line:// texts with escapes such as \\r\\n, each
    answered by one line. {n} in a REQUEST is its number.

    Exits with 1 if a request fails: an HTTP status from 400 on, a Redis error, a line of ERROR.

    \b
        reap load --rate 500 http://localhost:8000/
        reap load --rate 5000 redis://localhost:6379 'SET key:{n} value' 'GET key:{n}'
        reap load --rate 5000 line://localhost:11211 'set key{n} 0 0 5\\r\\nvalue' 'delete key{n}'
    """  # noqa: D301 - click wants the character itself
    asked = _asked(url, requests, rate, seconds, connections, keys)
    times = running.load(asked)
    for line in words.lines(asked, times):
        click.echo(line)
    if times.failed:
        raise ReapError(
            f"{times.failed} of {asked.count} requests failed; the first answer was: {times.failure}",
            "try one by hand first",
            ExitCode.FAILED,
        )
    return 0


def _asked(
    url: str, requests: tuple[str, ...], rate: float, seconds: float, connections: int, keys: int
) -> Asked:
    parts = urlsplit(url)
    try:
        port = parts.port or (80 if parts.scheme == "http" else 0)
    except ValueError:
        port = 0
    if parts.scheme not in get_args(Protocol) or not parts.hostname or not port:
        raise ReapError(
            f"{url} is neither http://HOST:PORT/PATH, redis://HOST:PORT nor line://HOST:PORT",
            _EXAMPLE,
            ExitCode.USAGE,
        )
    protocol = cast("Protocol", parts.scheme)
    texts = list(requests)
    if protocol == "http" and not texts:
        texts = [(parts.path or "/") + (f"?{parts.query}" if parts.query else "")]
    if not texts:
        raise ReapError(f"there is no request to make of {url}", _EXAMPLE, ExitCode.USAGE)
    try:
        encoded = analyse.encoded(protocol, f"{parts.hostname}:{port}", texts)
    except ValueError as error:
        raise ReapError(f"a request cannot be read: {error}", _EXAMPLE, ExitCode.USAGE) from error
    return Asked(
        protocol=protocol,
        host=parts.hostname,
        port=port,
        requests=encoded,
        rate=rate,
        count=max(1, round(rate * seconds)),
        connections=connections,
        keys=keys,
    )
