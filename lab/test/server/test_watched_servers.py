"""`reap wall --server` and `reap rss --server`: observed under load; nothing is left of bad input."""

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from programs import reap_command
from served import load, running, server

from reap.base.errors import ExitCode, ReapError
from reap.rss.command import rss
from reap.server.ready import free_ports
from reap.wall.command import wall

pytestmark = pytest.mark.timed

VERBS = {"wall": wall, "rss": rss}


def words(mode: str = "serves", *more: str, port: str = "{port}") -> list[str]:
    limit = "0.5" if mode == "waits" else "20"
    return [
        *("--server", f"{server()} {port} {mode}", "--ready", "tcp"),
        *("--load", " ".join([load(), port, *more]), "--timeout", limit),
    ]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_wall_watches_the_server_and_not_the_load(here: Path) -> None:
    """Each load has the server spin for 20 ms, and spins for 40 ms itself."""
    done = CliRunner().invoke(wall, [*words(), "--seconds", "1.5", "-o", "there", "--json", "x.json"])
    assert done.exception is None, done.output
    seen = json.loads((here / "x.json").read_text())["answers"][0]["wall"]
    assert seen["command"][0] == server()
    assert 1.4 < seen["wall_seconds"] < 3
    assert 0.04 < seen["cpu_seconds"] < 0.6
    assert f"next: reap compare --server '{server()} {{port}} serves' --ready tcp --load" in done.output
    assert not running()


def is_watching(there: Path) -> bool:
    """Whether `wall` has begun its trace, or `rss` has written a row."""
    rows = there.is_file() and len(there.read_text().splitlines()) > 1
    return rows or (there / "sampled.reap").exists()


@pytest.mark.parametrize("verb", VERBS)
def test_a_ctrl_c_ends_the_watching_and_leaves_a_result(verb: str, here: Path) -> None:
    """A terminal sends it to the whole process group."""
    command = [*reap_command(), verb, "--seconds", "60", "-o", "there", *words()]
    with subprocess.Popen(command, cwd=here, start_new_session=True, stderr=subprocess.PIPE, text=True) as it:
        until = time.monotonic() + 30
        while not is_watching(here / "there") and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        os.killpg(it.pid, signal.SIGINT)
        _, said = it.communicate(timeout=30)
    assert it.returncode == 0, said
    assert "next: reap compare --server" in said
    assert not running()


def test_rss_observes_the_server(here: Path) -> None:
    done = CliRunner().invoke(rss, [*words(), "--seconds", "0.5", "-o", "x.csv", "--json", "x.json"])
    assert done.exception is None, done.output
    (seen,) = json.loads((here / "x.json").read_text())["processes"]
    assert seen["command"][0] == server()
    assert seen["taken"] >= 2
    assert seen["allocator"] == "glibc"  # it was asked, as a command's is
    assert len((here / "x.csv").read_text().splitlines()) == seen["taken"] + 1
    assert "next: reap compare --server" in done.output
    assert not running()


def test_rss_observes_the_server_under_an_allocator() -> None:
    done = CliRunner().invoke(rss, [*words(), "--seconds", "0.3", "-a", "reap", "-o", "x.csv"])
    assert done.exception is None, done.output


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("mode", "more", "said"),
    [
        ("dies", (), "reap_test_server ended with exit status 3 before it was ready"),
        ("crashes", (), "reap_test_server was ended by SIGSEGV during the load"),
        ("tires", (), "reap_test_server was ended by SIGSEGV during the load"),
        ("serves", ("fail",), "the load reap_test_load ended with exit status 5"),
        ("waits", (), "reap_test_server was not ready within 0.5 s"),
    ],
)
def test_a_server_that_cannot_be_watched(verb: str, mode: str, more: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(VERBS[verb], [*words(mode, *more), "--seconds", "9", "-o", "there"])
    assert isinstance(done.exception, ReapError), done.output
    assert said in done.exception.what
    assert not running()


@pytest.mark.parametrize("verb", VERBS)
def test_a_port_in_use(verb: str) -> None:
    with socket.create_server(("localhost", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(VERBS[verb], [*words(port=port), "--ready", f"tcp:{port}", "-o", "there"])
    assert isinstance(done.exception, ReapError)
    assert f"port {port} is in use before" in done.exception.what


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--load", "true", "--", "true"), "--load requires --server"),
        (("--server", "cat {port}", "--load", "true"), "--server requires --ready"),
        ((*words(), "--pid", "1"), ""),
        ((*words(), "--", "true"), "another one is given: true"),
    ],
)
def test_options_that_do_not_go_together(verb: str, given: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(VERBS[verb], given)
    assert isinstance(done.exception, ReapError)
    assert done.exception.code == ExitCode.USAGE
    assert said in done.exception.what


def test_a_server_under_load_cannot_be_recorded() -> None:
    done = CliRunner().invoke(rss, [*words(), "--record", "x.reap"])
    assert isinstance(done.exception, ReapError)
    assert "cannot be recorded" in done.exception.what


def test_a_server_may_have_a_port_of_its_own() -> None:
    (port,) = free_ports(1)
    given = [*words(port=str(port)), "--ready", f"tcp:{port}", "--seconds", "0.3", "-o", "x.csv"]
    done = CliRunner().invoke(rss, given)
    assert done.exception is None, done.output
