"""What a bare machine meets first: a bootstrap that may not install, rooms that go on past a failure."""

import os
import re
import subprocess
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def machine(tmp_path):
    """A PATH whose first folder says what the machine is; the rest of it is this one's."""
    stubs = {
        "id": "echo 1000",
        "sudo": "exit 1",
        "apt-get": "echo apt-get was run; exit 9",
        "apt-cache": '[[ "${@: -1}" != libmimalloc2.0 ]]',
        "dpkg-query": "echo installed perl; echo not-installed sed",
    }
    for name, body in stubs.items():
        stub = tmp_path / name
        stub.write_text(f"#!/bin/bash\n{body}\n")
        stub.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def bootstrap(purpose, environment):
    return subprocess.run(
        [ROOT / "setup" / "bootstrap", purpose], env=environment, capture_output=True, text=True, check=False
    )


def test_who_may_not_install_is_shown_the_line(machine):
    answer = bootstrap("demo", machine)
    assert answer.returncode == 1
    line = re.search(r"^    (sudo apt-get update && sudo apt-get install .*)$", answer.stderr, re.MULTILINE)
    words = line[1].split()
    assert {"cmake", "g++", "ninja-build", "python3-venv", "sed"} <= set(words)
    assert "perl" not in words
    assert "apt-get was run" not in answer.stdout


def test_an_alternative_is_taken_where_the_first_is_unknown(machine):
    words = bootstrap("demo", machine).stderr.split()
    assert "libmimalloc3" in words
    assert "libmimalloc2.0" not in words


def test_the_demo_needs_neither_browser_nor_clang(machine):
    packages = bootstrap("demo", machine).stderr
    assert not re.search(r"chrom|clang|llvm|valgrind", packages)


def test_a_purpose_that_is_none_is_refused(machine):
    answer = bootstrap("lunch", machine)
    assert answer.returncode == 2
    assert "demo|test|more" in answer.stderr


@pytest.fixture
def rooms(tmp_path, monkeypatch):
    loader = SourceFileLoader("rooms", str(ROOT / "setup" / "rooms"))
    module = module_from_spec(spec_from_loader("rooms", loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    return module


def test_rooms_go_on_past_one_that_fails(rooms, monkeypatch, capfd):
    scripts = {"good": "true", "bad": "echo because; false; true", "late": rooms.each("true", "true")}
    monkeypatch.setattr(rooms, "ROOMS", {"test": scripts})
    monkeypatch.setattr("sys.argv", ["rooms", "test"])
    assert rooms.main() == 1
    printed = capfd.readouterr().out
    assert "because" in printed
    assert re.search(r"^late +[\d.]+  passed$", printed, re.MULTILINE)
    assert printed.splitlines()[-1] == "2 passed, 1 failed"


def test_a_room_runs_all_its_commands_and_fails_for_any(rooms, tmp_path):
    rooms.LOGS.mkdir()
    passed, _ = rooms.run("lint", rooms.each("false", "touch reached"))
    assert not passed
    assert (tmp_path / "reached").exists()


def test_a_room_that_hangs_is_ended_with_all_it_started(rooms, tmp_path, monkeypatch, capfd):
    rooms.LOGS.mkdir()
    monkeypatch.setattr(rooms, "LIMIT", 0.3)
    passed, seconds = rooms.run("hang", "sleep 60 & echo $! > child; wait")
    assert not passed
    assert seconds < 50
    state = Path(f"/proc/{int((tmp_path / 'child').read_text())}/stat")
    deadline = time.monotonic() + 60
    while state.exists() and state.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "it lives on"
        time.sleep(0.01)
    assert "no end after" in capfd.readouterr().out
