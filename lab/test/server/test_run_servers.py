"""`reap run --server`: the server is recorded without its load, compared, judged; nothing is left running."""

import json
import os
import shlex
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from programs import reap, reap_command
from served import load, running, server

from reap.base.errors import ExitCode, ReapError
from reap.recording import read
from reap.recording.analyse.profile import profile
from reap.run.command import run

pytestmark = pytest.mark.timed

SHORT = ("--loads", "1", "-n", "2", "-o", "there")


def words(mode: str = "serves", *more: str, port: str = "{port}") -> list[str]:
    limit = "0.5" if mode == "waits" else "20"
    return [
        *("-a", "glibc,reap", "--server", f"{server()} {port} {mode}", "--ready", "tcp"),
        *("--load", " ".join([load(), port, *more]), "--timeout", limit),
    ]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def redis_processes(folder: Path) -> list[str]:
    """Processes of Redis that work below a folder; others of this machine come and go."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if each.read_bytes().startswith((b"redis-server", b"redis-benchmark")):
                found += [each.parent.name] if str(folder) in str((each.parent / "cwd").readlink()) else []
        except OSError:
            continue
    return found


def test_redis(here: Path) -> None:
    """The recording has the server's allocations and not the load's; the verdict has what was measured."""
    redis = 'redis-server --port {port} --save "" --dir at-{arm}'
    bench = "redis-benchmark -p {port} -q -n 2000 -t set"
    around = ("--prepare", "mkdir at-{arm}", "--cleanup", "rm -r at-{arm}")
    given = ("--server", redis, "--ready", "tcp", "--load", bench, *around, "-a", "glibc,reap", *SHORT)
    done = reap("run", *given, "--json", "x.json", cwd=here)
    assert done.returncode == ExitCode.OK, done.stderr
    assert not redis_processes(here)
    assert not list(here.glob("at-*"))
    answer = json.loads((here / "x.json").read_text())["answers"][0]
    (process,) = answer["profile"]["processes"]
    assert process["command"][0] == "redis-server"
    assert process["name"] == "redis-server"  # Debian's is a link to redis-check-rdb
    assert "redis-check-rdb" not in json.dumps(answer["profile"])
    assert process["totals"]["total_objects"] > 2000  # a request has some
    side, *priced = answer["comparison"]["sides"]
    assert {each["allocator"] for each in priced} == {"price: recycle"}
    memory = {"mean_resident", "peak_resident", "settled_resident"}
    assert set(side["ratios"]) == {"cpu", "cpu_per_request", "minor_faults", *memory}
    verdict = answer["diagnosis"]
    assert verdict["headline"] == "inconclusive"  # two rounds decide nothing
    said = " ".join([verdict["paragraph"], *(fact["statement"] for fact in verdict["evidence"])])
    assert "2 rounds are too few to judge by" in said
    assert "reap takes" in said
    assert "jemalloc takes" not in said
    assert "mimalloc" not in said
    assert "wall time" not in said
    assert "ended with status" not in said
    shown = reap("show", "there/recording.reap", cwd=here)
    assert "next: reap compare --server 'redis-server --port {port} --save " in shown.stderr
    again = shlex.split(verdict["next_command"])
    if again[:2] == ["reap", "compare"]:  # as far as the noise lets a number of rounds be known
        for option, value in zip(given[:10:2], given[1:10:2], strict=True):
            assert again[again.index(option) + 1] == value
    resumed = reap("run", "--resume", "there", "--details", cwd=here)
    assert resumed.returncode == ExitCode.OK, resumed.stderr
    assert "counting its allocations" not in resumed.stderr
    assert "The servers of a round shared one core" in resumed.stdout


def test_the_load_is_not_recorded_and_a_comparison_can_go_on_with(here: Path) -> None:
    begun = reap("compare", *words(), *SHORT, cwd=here)
    assert begun.returncode == ExitCode.OK, begun.stderr
    done = CliRunner().invoke(run, ["--resume", "there"])
    assert done.exception is None, done.output
    assert "counting its allocations in another run" in done.output
    seen = profile(read.read(here / "there/recording.reap"), [])
    (process,) = seen.processes
    assert process.command[0] == server()
    assert not running()


@pytest.mark.parametrize(
    ("mode", "more", "said"),
    [
        (
            "dies",
            (),
            "reap_test_server ended with exit status 3 before it was ready; the server said: ",
        ),
        ("crashes", (), "reap_test_server was ended by SIGSEGV during the load"),
        ("serves", ("fail",), "the load reap_test_load ended with exit status 5; it said: no answer"),
        ("waits", (), "reap_test_server was not ready within 0.5 s"),
    ],
)
def test_a_server_that_cannot_be_recorded(mode: str, more: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(run, [*words(mode, *more), *SHORT])
    assert isinstance(done.exception, ReapError), done.output
    assert done.exception.what.startswith(said)
    assert done.exception.code == ExitCode.FAILED
    assert not running()


def test_an_allocator_under_which_the_server_fails_is_dropped(here: Path) -> None:
    done = reap("run", "--details", *words("allergic"), *SHORT, cwd=here)
    assert done.returncode == ExitCode.FAILED, done.stderr
    said = " ".join(done.stdout.split())
    assert "- reap was left out: reap_test_server ended with exit status 7 before it was ready" in said
    assert not running()


def test_a_port_in_use() -> None:
    with socket.create_server(("localhost", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(run, [*words(port=port), "--ready", f"tcp:{port}", *SHORT])
    assert isinstance(done.exception, ReapError)
    assert f"port {port} is in use before" in done.exception.what


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--load", "true", "--", "true"), "--load requires --server"),
        (("--loads", "2", "--", "true"), "--loads requires --server"),
        (("--server", "cat {port}", "--load", "true"), "--server requires --ready"),
        ((*words(), "--drag"), "--drag does not go with --server"),
        ((*words(), "--", "true"), "another one is given: true"),
        ((*words(), "--resume", "there"), "it takes no"),
    ],
)
def test_options_that_do_not_go_together(given: tuple[str, ...], said: str, here: Path) -> None:
    done = CliRunner().invoke(run, given)
    assert isinstance(done.exception, ReapError)
    assert done.exception.code == ExitCode.USAGE
    assert said in done.exception.what
    assert not list(here.iterdir())


def test_a_ctrl_c_while_it_is_recorded_leaves_nothing_running(here: Path) -> None:
    command = [*reap_command(), "run", *words("waits"), "--timeout", "60", *SHORT]
    with subprocess.Popen(command, cwd=here, start_new_session=True, stderr=subprocess.PIPE, text=True) as it:
        until = time.monotonic() + 30
        while not running() and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(it.pid, signal.SIGINT)
        _, said = it.communicate(timeout=30)
    assert it.returncode == ExitCode.SIGNALLED + signal.SIGINT, said
    assert "reap run --resume" in said
    assert not running()
