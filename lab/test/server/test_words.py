"""The options of a server on another command line: as they were given, and without those that are usual."""

import shlex
import signal

import pytest

from reap.launch.program import Program
from reap.server import words
from reap.server.records import READY_WITHIN, STOP, Server


def server(load: str, stop: int = STOP, within: float = READY_WITHIN, requests: int = 0) -> Server:
    command = shlex.split(load)
    program = Program(command=command, path="/bin/x", image="/bin/x", loader="", brings_malloc=False)
    return Server(ready="tcp", load=program, stop=stop, ready_within=within, has_port=True, requests=requests)


@pytest.mark.parametrize(
    "text",
    [
        "redis-server --port {port} --dir at-{arm}",
        'redis-server --port {port} --save ""',
        "sh -c 'echo \"$HOME\" `true` \\a && exec serve {port}'",
        'ab -H "Accept: a b" http://localhost:{port}/',
    ],
)
def test_the_commands_are_those_that_were_given(text: str) -> None:
    said = words.options(server(text), shlex.split(text))
    again = dict(zip(said[::2], said[1::2], strict=True))
    assert again == {"--server": text, "--ready": "tcp", "--load": text}


def test_what_is_not_usual_is_said() -> None:
    given = server("true", stop=signal.SIGINT, within=2.5, requests=100)
    assert words.options(given, ["cat"])[6:] == ["--stop", "INT", "--timeout", "2.5"]
    assert words.load_options(given) == ["--requests-per-load", "100"]
    assert words.load_options(server("true")) == []
