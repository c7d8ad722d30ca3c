"""`reap rss --hours`: a leaking server is found, nothing seen is lost, and another part goes on with it."""

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from lab.test.cli.schemas import assert_valid
from programs import reap_command
from served import load, running, server

from reap.base.errors import ExitCode, ReapError
from reap.rss.command import rss
from reap.rss.growth import run

SECONDS = 1 / 3600
PID = str(os.getpid())


def words(mode: str, *more: str) -> list[str]:
    return [
        *("--server", f"{server()} {{port}} {mode}", "--ready", "tcp"),
        *("--load", " ".join([load(), "{port}", *more]), "--interval", "0.05"),
    ]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.timed
def test_a_server_that_leaks_grows_and_live_bytes_do(here: Path) -> None:
    files = ["-o", "x.csv", "--json", "x.json", "--html", "x.html"]
    done = CliRunner().invoke(rss, [*words("leaks"), "--hours", str(5 * SECONDS), *files])
    assert done.exception is None, done.output
    written = json.loads((here / "x.json").read_text())
    assert_valid("growth", written)
    assert (written["verdict"]["standing"], written["verdict"]["cause"]) == ("grows", "live"), done.output
    assert written["growth"]["asked"]
    assert written["growth"]["snapshots"] == len(rows(here / "x.csv")) - 1
    assert "the program keeps what it allocates" in " ".join(done.output.split())
    assert f"next: reap record -- {server()} " in done.output
    page = (here / "x.html").read_text()
    assert "the program keeps what it allocates" in page
    assert '"part":"live"' in page
    assert not running()


def test_another_part_goes_on_with_the_file_and_a_new_start(here: Path) -> None:
    first = CliRunner().invoke(rss, [*words("serves"), "--hours", str(SECONDS), "-o", "x.csv"])
    assert first.exception is None, first.output
    seen = len(rows(here / "x.csv"))
    with (here / "x.csv").open("a") as file:
        file.write("0.7,12,4")  # as a kill leaves it
    again = CliRunner().invoke(
        rss, [*words("serves"), "--hours", str(2 * SECONDS), "--resume", "x.csv", "--json", "x.json"]
    )
    assert again.exception is None, again.output
    assert all(len(row) == len(rows(here / "x.csv")[0]) for row in rows(here / "x.csv"))
    found = json.loads((here / "x.json").read_text())["growth"]
    assert found["starts"] == 2
    assert found["snapshots"] == len(rows(here / "x.csv")) - 1 > seen
    assert 1.8 < found["seconds"] < 2.6
    assert " of 2 starts" in again.output


def test_what_was_observed_for_long_enough_is_only_told_again(here: Path) -> None:
    CliRunner().invoke(rss, [*words("serves"), "--hours", str(SECONDS), "-o", "x.csv"])
    before = rows(here / "x.csv")
    again = CliRunner().invoke(rss, [*words("serves"), "--hours", str(SECONDS / 2), "--resume", "x.csv"])
    assert again.exception is None, again.output
    assert rows(here / "x.csv") == before
    assert "Inconclusive" in again.output


def test_a_ctrl_c_keeps_what_was_seen(here: Path) -> None:
    command = [*reap_command(), "rss", "--hours", "1", "-o", "x.csv", *words("serves")]
    with subprocess.Popen(command, cwd=here, start_new_session=True, stderr=subprocess.PIPE, text=True) as it:
        until = time.monotonic() + 30
        while time.monotonic() < until and not (
            (here / "x.csv").exists() and len((here / "x.csv").read_text().splitlines()) > 3
        ):
            time.sleep(0.05)
        os.killpg(it.pid, signal.SIGINT)
        _, said = it.communicate(timeout=30)
    assert it.returncode == 0, said
    assert "next: reap rss --server" in said
    assert "--resume x.csv" in said
    assert (here / "x.csv").stat().st_mode & 0o777 == 0o600
    assert not running()


def test_of_a_server_that_dies_what_was_seen_is_told(here: Path) -> None:
    done = CliRunner().invoke(rss, [*words("tires"), "--hours", "1", "-o", "x.csv"])
    assert isinstance(done.exception, ReapError), done.output
    assert "was ended by SIGSEGV during the load" in done.exception.what
    assert len(rows(here / "x.csv")) > 1
    assert "Memory of" in done.output
    assert not running()


@pytest.mark.timed
def test_a_process_is_observed_from_outside(here: Path) -> None:
    script = "import time\nkept = []\nwhile True: kept.append(b'x' * 300000); time.sleep(0.02)"
    with subprocess.Popen(["/usr/bin/python3", "-c", script]) as it:
        try:
            done = CliRunner().invoke(
                rss,
                [
                    *("--pid", str(it.pid), "--hours", str(5 * SECONDS), "--interval", "0.05"),
                    *("-o", "x.csv", "--json", "x.json"),
                ],
            )
        finally:
            it.kill()
    assert done.exception is None, done.output
    written = json.loads((here / "x.json").read_text())
    assert written["verdict"]["standing"] == "grows", done.output
    assert written["growth"]["asked"]
    assert written["verdict"]["cause"] == "live"
    assert f"next: reap record --pid {it.pid}" in done.output  # who allocates


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--hours", "1"], "give either a process or a server"),
        (["--hours", "1", "--", "true"], "give either a process or a server"),
        (["--hours", "1", "--pid", PID, "--", "true"], "give either a process or a server"),
        (["--hours", "1", "--pid", "1", *words("serves")], "give either a process or a server"),
        (["--hours", "1", "--pid", PID, "--resume", "a", "-o", "b"], "--resume goes on with its own file"),
        (["--hours", "1", "--load", "true"], "--load requires --server"),
        (["--hours", "1", "--pid", PID, "-o", "-"], "cannot be written to standard output"),
        (["--hours", "1", "--pid", PID, "--try"], "--try must not be used with --hours"),
        (["--hours", "1", "--pid", PID, "--seconds", "3"], "--seconds must not be used with --hours"),
        (["--pid", PID, "--resume", "a"], "--resume requires --try or --hours"),
    ],
)
def test_options_that_do_not_go_together(given: list[str], said: str) -> None:
    done = CliRunner().invoke(rss, given)
    assert isinstance(done.exception, ReapError)
    assert done.exception.code == ExitCode.USAGE
    assert said in done.exception.what


HEAD = ",".join(run.residence.HEADINGS) + "\r\n"
GOOD = ",".join(["0"] * len(run.residence.HEADINGS)) + "\r\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is no file of snapshots"),
        (b"a,b,c\r\n1,2,3\r\n", "is no file of snapshots"),
        (b"\xff\xfe\x00", "is no file of snapshots"),
        (b"x" * 200_000, "is no file of snapshots"),
        ((HEAD + GOOD + "1,x\r\n" + GOOD).encode(), "line 3 of x.csv is damaged"),
    ],
)
def test_a_file_that_is_none_of_ours_is_refused_and_stays(here: Path, text: bytes, said: str) -> None:
    (here / "x.csv").write_bytes(text)
    done = CliRunner().invoke(rss, ["--pid", str(os.getpid()), "--hours", "1", "--resume", "x.csv"])
    assert isinstance(done.exception, ReapError)
    assert said in done.exception.what
    assert (here / "x.csv").read_bytes() == text


def test_of_a_server_that_never_started_only_that_is_said(here: Path) -> None:
    (here / "x.csv").write_text(HEAD)  # of an earlier part that was killed at once
    for file in (["--resume", "x.csv"], ["-o", "y.csv"]):
        done = CliRunner().invoke(rss, [*words("dies"), "--hours", "1", *file])
        assert isinstance(done.exception, ReapError)
        assert "ended with exit status 3 before it was ready" in done.exception.what
        assert done.output == ""
    assert not (here / "y.csv").exists()


def test_a_torn_last_line_is_passed_over(here: Path) -> None:
    (here / "x.csv").write_text(HEAD + GOOD + GOOD + "0.3,7")
    assert len(run.snapshots(Path("x.csv"))) == 2
