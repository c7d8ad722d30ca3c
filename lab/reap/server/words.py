"""The options that name a server on another command line."""

import shlex
import signal
from collections.abc import Sequence

from reap.server.records import PORT, READY_WITHIN, STOP, Server

_STAND_INS = (PORT, "{arm}")


def options(server: Server, command: Sequence[str]) -> list[str]:
    """Options that start the server of this command, load and stop it, as far as they are not usual."""
    words = ["--server", _text(command), "--ready", server.ready, "--load", _text(server.load.command)]
    if server.stop != STOP:
        words += ["--stop", signal.Signals(server.stop).name.removeprefix("SIG")]
    if server.ready_within != READY_WITHIN:
        words += ["--timeout", f"{server.ready_within:g}"]
    return words


def load_options(server: Server) -> list[str]:
    """Options of its loads, for a verb that measures each."""
    words = ["--loads", str(server.loads)] if server.loads else []
    words += ["--warmup", str(server.warm_ups)] if server.warm_ups != 1 else []
    return [*words, "--requests-per-load", str(server.requests)] if server.requests else words


def _text(command: Sequence[str]) -> str:
    return " ".join(_quoted(word) for word in command)


def _quoted(word: str) -> str:
    """The word for `shlex.split`, to which a brace is a letter: `{port}` stays as people write it."""
    plain = word
    for each in _STAND_INS:
        plain = plain.replace(each, "x")
    if shlex.quote(plain) == plain:
        return word
    # All of it stands in single quotes on the other command line.
    return shlex.quote(word) if any(letter in word for letter in '"\\$`') else f'"{word}"'
