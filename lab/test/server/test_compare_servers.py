"""`reap compare --server`: a known difference is found, a real server is measured, bad input is refused."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from programs import reap
from rich.console import Console
from samples import comparison_of
from served import load, running, server

from reap.base.errors import ExitCode, ReapError
from reap.cli.compare import compare
from reap.compare.terminal import render
from reap.server.ready import free_ports

pytestmark = pytest.mark.timed


def compared(where: Path, *words: str) -> dict:
    given = ("-n", "2", "--loads", "1", "--details", "-o", "there", "--json", "x.json")
    done = reap("compare", *given, *words, cwd=where)
    assert done.returncode == 0, done.stderr
    assert "strace" not in done.stderr
    assert "The servers of a round" in done.stdout
    assert "next: reap run --server '" in done.stderr
    return json.loads((where / "x.json").read_text())["answers"][0]["comparison"]


def words(mode: str = "serves", *more: str, port: str = "{port}") -> list[str]:
    return ["-a", "glibc,reap", *commands(mode, *more, port=port)]


def commands(mode: str = "serves", *more: str, port: str = "{port}") -> list[str]:
    return [
        *("--server", f"{server()} {port} {mode}"),
        *("--ready", "tcp", "--load", " ".join([load(), port, *more])),
    ]


def test_the_servers_cpu_time_alone_is_compared(tmp_path: Path) -> None:
    """The server needs 20 ms, and 40 ms under the other allocator; the load burns 40 ms of its own."""
    answer = compared(tmp_path, *words())
    (side,) = answer["sides"]
    assert side["verified"]
    assert side["same_output"] is None
    assert set(side["ratios"]) == {
        "cpu",
        "minor_faults",
        "mean_resident",
        "peak_resident",
        "settled_resident",
    }
    assert 1.6 < side["ratios"]["cpu"]["ratio"]["value"] < 2.4
    assert 0.019 < side["ratios"]["cpu"]["baseline"] < 0.03
    assert answer["pairing"]["method"] == "simultaneous"
    assert answer["load"] == [load(), "{port}"]
    again = reap("compare", "--resume", "there", "-n", "3", cwd=tmp_path)
    assert again.returncode == ExitCode.OK, again.stderr
    assert "3 paired rounds" in again.stdout
    assert not running()


def test_a_fixed_port_is_for_one_server_at_a_time(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    answer = compared(tmp_path, *words(port=str(port)), "--ready", f"tcp:{port}")
    assert answer["pairing"]["method"] == "sequential"
    assert "throughput" not in answer["sides"][0]["ratios"]
    assert "{port}" in answer["pairing"]["reason"]
    assert 1.6 < answer["sides"][0]["ratios"]["cpu"]["ratio"]["value"] < 2.4


def test_servers_in_turns(tmp_path: Path) -> None:
    answer = compared(tmp_path, *words(), "--pairing", "sliced")
    assert answer["pairing"]["method"] == "sliced"
    assert "throughput" not in answer["sides"][0]["ratios"]
    assert 1.6 < answer["sides"][0]["ratios"]["cpu"]["ratio"]["value"] < 2.4


def test_the_cpu_time_of_a_request_and_their_rate(tmp_path: Path) -> None:
    """A load of one request that is said to be of a thousand."""
    answer = compared(tmp_path, *words(), "--requests-per-load", "1000", "--pairing", "sequential")
    ratios = answer["sides"][0]["ratios"]
    assert 19e-6 < ratios["cpu_per_request"]["baseline"] < 30e-6
    assert 1.6 < ratios["cpu_per_request"]["ratio"]["value"] < 2.4
    assert ratios["throughput"]["more_is_better"]
    assert ratios["throughput"]["unit"] == "per_second"
    # 20 ms more of 60. It is wall time: beside busy processes the interval alone has to hold that.
    throughput = ratios["throughput"]["ratio"]
    assert throughput["low"] < 0.95
    assert throughput["high"] > 0.5


def test_a_round_has_all_of_its_loads_and_a_warm_up_one(tmp_path: Path) -> None:
    done = reap("compare", "-n", "2", "--loads", "2", "--details", "-o", "there", *words(), cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    runs = [json.loads(line) for line in (tmp_path / "there/runs.jsonl").read_text().splitlines()]
    assert {(run["warmup"], len(run["outcome"]["loads"])) for run in runs} == {(True, 1), (False, 2)}
    said = " ".join(done.stdout.split())
    assert "over 2 loads of each start" in said
    assert "--requests-per-load tells it" in said


def test_loads_that_warm_a_server_up_are_not_measured(tmp_path: Path) -> None:
    """The first three requests of a start take 50 ms more."""
    given = ("--warmup", "3", "--loads", "1", "-o", "there", *words("cools"))
    done = reap("compare", "-n", "2", *given, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    runs = [json.loads(line) for line in (tmp_path / "there/runs.jsonl").read_text().splitlines()]
    assert [run["warmup"] for run in runs] == [True] * 2 + [False] * 6
    costs = [
        load["cpu_ns"]
        for run in runs
        for load in run["outcome"]["loads"]
        if run["cell"]["allocator"] == "glibc"
    ]
    assert max(costs) < 0.04e9
    assert "--warmup 3" in done.stderr.splitlines()[-1]


def test_two_settings_of_a_server(tmp_path: Path) -> None:
    """It needs 40 ms for a request, and 20 ms with the variable."""
    answer = compared(tmp_path, *commands("tuned"), "--against", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0")
    (side,) = answer["sides"]
    assert side["allocator"] == "reap_test_server (GLIBC_TUNABLES=glibc.malloc.tcache_count=0)"
    assert 0.4 < side["ratios"]["cpu"]["ratio"]["value"] < 0.65
    assert answer["pairing"]["method"] == "simultaneous"
    assert not running()


def test_two_commands_of_a_server_are_loaded_by_their_requests(tmp_path: Path) -> None:
    other = f"{server()} {{port}} tuned"
    answer = compared(tmp_path, *commands(), "--against", other, "--requests-per-load", "1000")
    (side,) = answer["sides"]
    assert (answer["baseline"], side["allocator"]) == ("reap_test_server", "tuned")
    assert answer["against"] == {"tuned": [server(), "{port}", "tuned"]}
    assert 1.6 < side["ratios"]["cpu_per_request"]["ratio"]["value"] < 2.4
    assert not running()


def test_a_port_that_is_fixed_is_for_one_command_at_a_time(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    given = commands(port=str(port))
    answer = compared(tmp_path, *given, "--ready", f"tcp:{port}", "--against", f"{server()} {port} tuned")
    assert answer["pairing"]["method"] == "sequential"
    assert 1.6 < answer["sides"][0]["ratios"]["cpu"]["ratio"]["value"] < 2.4


@pytest.mark.parametrize(
    ("own", "other", "said"),
    [
        ("dies", "serves", "the baseline, reap_test_server ended with exit status 3 before it was ready"),
        ("serves", "dies", "dies: no result: reap_test_server ended with exit status 3 before"),
    ],
)
def test_a_command_of_two_that_does_not_serve(own: str, other: str, said: str, tmp_path: Path) -> None:
    more = ("--against", f"{server()} {{port}} {other}", "-n", "2", "--loads", "1")
    done = reap("compare", *commands(own), *more, cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED
    assert said in " ".join((done.stdout + done.stderr).split())
    assert "under glibc" not in done.stderr
    assert not running()


def test_nothing_measured_shows_no_columns_of_servers() -> None:
    console = Console(record=True, width=100)
    render(console, comparison_of([]))
    assert "per request" not in console.export_text()


def test_redis(tmp_path: Path) -> None:
    answer = compared(
        tmp_path,
        *("-a", "glibc,reap", "--server", "redis-server --port {port} --dir at-{arm}", "--ready", "tcp"),
        *("--prepare", "mkdir at-{arm}", "--cleanup", "rm -r at-{arm}", "--stop", "int"),
        *("--load", "redis-benchmark -p {port} -q -n 2000 -t set"),
    )
    (side,) = answer["sides"]
    assert side["verified"]
    assert "libreap-malloc" in side["provider"]
    assert 0.5 < side["ratios"]["cpu"]["ratio"]["value"] < 2
    assert side["ratios"]["peak_resident"]["baseline"] > 4 << 20
    assert 1e-6 < side["ratios"]["cpu_per_request"]["baseline"] < 1e-3
    assert "throughput" not in side["ratios"]  # they shared a core
    assert answer["pairing"]["method"] == "simultaneous"
    assert not list(tmp_path.glob("at-*"))


def test_the_allocator_that_a_server_is_linked_to_is_compared_with_itself(tmp_path: Path) -> None:
    """Debian's redis-server is linked to jemalloc."""
    redis = ("--server", 'redis-server --port {port} --save ""', "--ready", "tcp")
    load = ("--load", "redis-benchmark -p {port} -q -n 1000 -t set")
    done = reap(
        "compare", "-n", "2", "--loads", "1", "-a", "glibc,jemalloc,reap", *redis, *load, cwd=tmp_path
    )
    assert done.returncode == ExitCode.OK, done.stderr
    said = " ".join(done.stdout.split())
    assert said.count("it is compared with itself, and glibc was not measured") == 1
    assert "jemalloc is the malloc that redis-server has by itself (/" in said


def test_latency_at_a_fixed_rate_of_servers_one_after_another(tmp_path: Path) -> None:
    """The server needs 20 ms for a request, and 40 ms under the other allocator; one is due every 200 ms."""
    load_of_ours = f"{Path(sys.executable).with_name('reap')} load --rate 5 --seconds 1 --connections 1"
    done = reap(
        *(
            "compare",
            "-n",
            "2",
            "--loads",
            "1",
            "--details",
            "-o",
            "there",
            "--json",
            "x.json",
            "-a",
            "glibc,reap",
        ),
        *("--server", f"{server()} {{port}} echoes", "--ready", "tcp"),
        *("--load", f"{load_of_ours} line://localhost:{{port}} ask"),
        cwd=tmp_path,
    )
    assert done.returncode == ExitCode.OK, done.stderr
    said = " ".join(done.stdout.split())
    assert "ran one after another: the load makes requests at a fixed rate, whose latency is compared" in said
    assert "Latency is that of 5 requests per second, each from when it was due" in said
    assert "median latency" in said
    answer = json.loads((tmp_path / "x.json").read_text())["answers"][0]["comparison"]
    assert answer["due_per_second"] == 5
    ratios = answer["sides"][0]["ratios"]
    assert {"latency_p50", "latency_mean", "throughput", "cpu_per_request"} <= ratios.keys()
    assert not {"latency_p99", "latency_p999"} & ratios.keys()  # so few requests have none
    # No upper bounds: beside other processes latency is as long as these let it be.
    assert ratios["latency_p50"]["baseline"] >= 0.02
    assert ratios["latency_p50"]["ratio"]["value"] > 1
    assert 0 < ratios["throughput"]["baseline"] <= 5
    assert not running()


@pytest.mark.parametrize(
    ("mode", "more", "said"),
    [
        ("dies", (), "reap_test_server ended with exit status 3 before it was ready"),
        ("crashes", (), "reap_test_server was ended by SIGSEGV during the load"),
        ("serves", ("fail",), "the load reap_test_load ended with exit status 5"),
        ("waits", (), "reap_test_server was not ready within 0.3 s"),
    ],
)
def test_a_baseline_that_cannot_be_measured(
    mode: str, more: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(
        compare, [*words(mode, *more), "--timeout", "0.3" if mode == "waits" else "20"]
    )
    assert isinstance(answer.exception, ReapError), answer.exception
    assert answer.exception.code == ExitCode.FAILED
    assert f"under glibc, the baseline, {said}" in answer.exception.what
    assert not running()


def test_an_allocator_under_which_the_server_fails_is_dropped(tmp_path: Path) -> None:
    done = reap("compare", "-n", "2", "--loads", "1", *words("allergic"), cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED, done.stderr
    said = " ".join(done.stdout.split())
    assert "reap_test_server ended with exit status 7 before it was ready (in the warm-up)" in said
    assert not running()


GOOD = ("--server", "cat {port}", "--ready", "tcp", "--load", "cat {port}")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--load", "true"), "--load requires --server"),
        (("--stop", "INT", "--", "true"), "--stop requires --server"),
        (("--loads", "2", "--", "true"), "--loads requires --server"),
        (("--server", "cat {port}"), "--server requires --load"),
        (("--server", "cat {port}", "--load", "true"), "--server requires --ready"),
        ((*GOOD, "--", "true"), "another one is given: true"),
        ((*GOOD, "--against", "cat"), "there is no {port} in cat, which --against names"),
        (
            (*GOOD, "--ready", "tcp:6379", "--against", "cat", "--pairing", "sliced"),
            "in all of --server, --load",
        ),
        ((*GOOD, "--levels", "adv0,adv3"), "--levels does not go with --server"),
        ((*GOOD, "--stop", "NOSUCH"), "--stop NOSUCH is no signal"),
        ((*GOOD, "--ready", "word:up"), "--ready word:up is neither"),
        ((*GOOD, "--server", "cat"), "does not say on which port"),
        ((*GOOD, "--load", "cat", "--pairing", "simultaneous"), "need ports of their own"),
        ((*GOOD, "--load", "cat", "--pairing", "sliced"), "need ports of their own"),
        ((*GOOD, "--load", ""), "--server requires --load"),
        ((*GOOD, "--load", "'"), "--load cannot be split"),
        ((*GOOD, "--resume", "there"), "it takes no"),
    ],
)
def test_options_that_do_not_go_together(
    given: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(compare, given)
    assert isinstance(answer.exception, ReapError)
    assert answer.exception.code == ExitCode.USAGE
    assert said in answer.exception.what


@pytest.mark.parametrize("option", ["--server", "--load"])
def test_a_command_that_is_not_there(option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(compare, [*GOOD, option, "nosuch {port}"])
    assert isinstance(answer.exception, ReapError)
    assert answer.exception.code == ExitCode.NOT_FOUND
    assert "nosuch" in answer.exception.what
