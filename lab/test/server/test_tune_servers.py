"""`reap tune --server`: a setting that wins is found on a server under load; bad input is refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from served import load, running, server

from reap.base.errors import ExitCode, ReapError
from reap.tune.command import tune

pytestmark = pytest.mark.timed

SHORT = ("--loads", "1", "-n", "29", "-o", "there", "--json", "x.json", "--for", "cpu")


def words(mode: str = "tuned", *more: str, port: str = "{port}") -> list[str]:
    limit = "0.5" if mode == "waits" else "20"
    return [
        *("--server", f"{server()} {port} {mode}", "--ready", "tcp"),
        *("--load", " ".join([load(), port, *more]), "--timeout", limit),
    ]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_setting_that_wins_is_found(here: Path) -> None:
    """The server takes half of the time where glibc's tunables turn its thread cache's count up."""
    done = CliRunner().invoke(tune, [*words(), *SHORT, "--details", "--requests-per-load", "10"])
    assert done.exception is None, done.output
    found = json.loads((here / "x.json").read_text())["answers"][0]["tuned"]
    (finding,) = found["findings"]
    assert finding["metric"] == "cpu_per_request"
    assert "tcache" in " ".join(finding["environment"].values())
    assert 0.4 < finding["ratio"]["ratio"]["value"] < 0.7
    memory = {"mean_resident", "peak_resident", "settled_resident"}
    assert set(finding["beside"]) <= {"cpu", "minor_faults", *memory}
    assert found["pairing"]["method"] == "simultaneous"
    assert found["load"] == [load(), "{port}"]
    assert all(each["same_output"] is None for each in found["trials"])
    assert "The servers of a round shared one core" in " ".join(done.output.split())
    assert not running()


@pytest.mark.parametrize(
    ("mode", "more", "said"),
    [
        ("dies", (), "reap_test_server ended with exit status 3 before it was ready"),
        ("crashes", (), "reap_test_server was ended by SIGSEGV during the load"),
        ("serves", ("fail",), "the load reap_test_load ended with exit status 5"),
        ("waits", (), "reap_test_server was not ready within 0.5 s"),
    ],
)
def test_a_server_that_cannot_be_measured(mode: str, more: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(tune, [*words(mode, *more), *SHORT])
    assert isinstance(done.exception, ReapError), done.output
    assert said in done.exception.what
    assert not running()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((*words(), "--for", "tail"), "--for tail does not go with --server"),
        ((*words(), "--", "true"), "another one is given: true"),
        (("--loads", "3", "--", "true"), "--loads requires --server"),
        ((*words(), "--resume", "there"), "it takes no"),
    ],
)
def test_options_that_do_not_go_together(given: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(tune, given)
    assert isinstance(done.exception, ReapError)
    assert done.exception.code == ExitCode.USAGE
    assert said in done.exception.what
