"""Servers started, loaded and stopped: what is measured, and that nothing is left of those that misbehave."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from served import load, running, server

from reap.base.errors import ReapError
from reap.launch.records import Launch
from reap.server import ready, serve
from reap.server import running as running_servers
from reap.server.records import Ready, Served, Service

pytestmark = pytest.mark.timed


def service(
    mode: str,
    *more: str,
    port: int = 0,
    within: float = 5.0,
    path: str = "",
    line: str = "",
    loads: int = 1,
    requests: int = 0,
) -> Service:
    port = port or ready.free_ports(1)[0]
    return Service(
        server=Launch(argv=[server(), str(port), mode], program=server()),
        load=Launch(argv=[load(), str(port), *more], program=load()),
        ready=Ready(port=port, path=path, line=line),
        loads=loads,
        requests=requests,
        stop=signal.SIGTERM,
        ready_within=within,
    )


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    until = time.monotonic() + 1  # a kill takes a moment
    while running() and time.monotonic() < until:
        time.sleep(0.01)
    assert not running()


class Page(BaseHTTPRequestHandler):
    """Has one page."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def served(mode: str, *more: str, **how: Any) -> Served:
    (only,) = serve.serve([service(mode, *more, **how)], None, None)
    return only


def test_the_servers_own_cost_over_one_load() -> None:
    found = served("serves")
    assert not found.failure
    assert not found.note
    assert 0.019e9 < found.outcome.cpu_ns < 0.03e9  # neither the first load nor the load generator
    assert found.outcome.wall_ns > 0.05e9
    assert found.outcome.peak_resident > 1 << 18


def test_each_load_of_a_start_is_kept() -> None:
    found = served("serves", loads=3, requests=7).outcome
    assert [each.requests for each in found.loads] == [7, 7, 7]
    assert all(0.019e9 < each.cpu_ns < 0.03e9 for each in found.loads)
    assert found.cpu_ns == sum(each.cpu_ns for each in found.loads)
    assert found.wall_ns == sum(each.wall_ns for each in found.loads)
    assert found.served == 21


def test_requests_that_nobody_counts() -> None:
    assert served("serves").outcome.served == 0


def test_a_later_load_that_fails() -> None:
    assert "was ended by SIGSEGV during the load" in served("tires", loads=3).failure


def test_servers_at_the_same_time_are_told_apart() -> None:
    quick, slow = service("serves"), service("serves")
    preloaded = {"LD_PRELOAD": "/nowhere/libreap-malloc.so"}
    slow = msgspec.structs.replace(slow, server=msgspec.structs.replace(slow.server, environment=preloaded))
    core = min(os.sched_getaffinity(0))
    one, two = serve.serve([quick, slow], core, core)
    assert 1.5 < two.outcome.cpu_ns / one.outcome.cpu_ns < 2.5


def test_servers_without_a_core_take_turns_each_with_its_load() -> None:
    """A load and its server use 60 ms of CPU time; side by side on two cores both take as long as one."""
    found = serve.serve([service("serves"), service("serves")], None, None)
    assert all(0.019e9 < each.outcome.cpu_ns < 0.03e9 for each in found)
    assert max(each.outcome.wall_ns for each in found) > 0.85 * 2 * 0.06e9


@pytest.mark.parametrize(("mode", "more"), [("crashes", ()), ("serves", ("fail",))])
def test_one_that_fails_in_its_turn_leaves_the_others_measured(mode: str, more: tuple[str, ...]) -> None:
    bad, good, other = serve.serve([service(mode, *more), service("serves"), service("serves")], None, None)
    assert bad.failure
    assert all(0.019e9 < each.outcome.cpu_ns < 0.03e9 for each in (good, other))


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("dies", "ended with exit status 3 before it was ready; the server said: no such port"),
        ("crashes", "was ended by SIGSEGV during the load"),
        ("daemon", "ended with exit status 0 before it was ready; if it goes into the background"),
        ("lingers", "ended with exit status 0 during the load; if it goes into the background"),
    ],
)
def test_a_server_that_ends(mode: str, said: str) -> None:
    assert f"reap_test_server {said}" in served(mode).failure


def test_a_server_that_is_never_ready() -> None:
    found = served("waits", within=0.2)
    assert "was not ready within 0.2 s (no connection to port" in found.failure


def test_a_server_that_answers_no_page() -> None:
    found = served("serves", within=0.2, path="/health")
    assert "no good answer from http://localhost:" in found.failure


def test_a_server_that_answers_a_page() -> None:
    with ThreadingHTTPServer(("localhost", 0), Page) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        assert ready.is_ready(Ready(port=pages.server_port, path="/health"), Path())
        assert not ready.is_ready(Ready(port=pages.server_port, path="/missing"), Path())
        pages.shutdown()


def test_a_server_that_writes_a_line() -> None:
    assert not served("speaks", line="serving at").failure


def test_a_server_that_writes_another_line() -> None:
    failure = served("speaks", within=0.2, line="ready").failure
    assert "was not ready within 0.2 s (it has not written 'ready')" in failure


def test_a_server_that_ignores_its_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_servers, "GRACE", 0.3)
    found = served("stubborn")
    assert not found.failure
    assert found.note == "reap_test_server did not end within 0.3 s of SIGTERM, and was killed"


def test_a_load_that_fails() -> None:
    assert served("serves", "fail").failure == (
        "the load reap_test_load ended with exit status 5; it said: no answer"
    )


def test_one_that_fails_leaves_the_others_measured() -> None:
    broken, sound = serve.serve([service("crashes"), service("serves")], None, None)
    assert broken.failure
    assert not sound.failure
    assert sound.outcome.cpu_ns > 0.019e9


def test_a_port_in_use() -> None:
    with socket.create_server(("localhost", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ReapError, match=f"port {port} is in use before"):
            serve.serve([service("serves", port=port)], None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tcp", Ready(port=0)),
        ("tcp:80", Ready(port=80)),
        ("http:/", Ready(port=0, path="/")),
        ("http:8080/a/b", Ready(port=8080, path="/a/b")),
        ("line:ready: now", Ready(port=0, line="ready: now")),
    ],
)
def test_what_is_waited_for(text: str, expected: Ready) -> None:
    assert ready.parsed(text, has_port=True) == expected


@pytest.mark.parametrize(
    "text", ["", "tcp:", "tcp:0", "tcp:x", "http:", "http:80", "line:", "word:ready", "http:x/", "tcp:99999"]
)
def test_what_cannot_be_waited_for(text: str) -> None:
    with pytest.raises(ReapError):
        ready.parsed(text, has_port=True)


def test_ready_without_any_port() -> None:
    with pytest.raises(ReapError, match="does not say on which port"):
        ready.parsed("tcp", has_port=False)
