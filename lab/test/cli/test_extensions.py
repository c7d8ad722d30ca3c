"""Commands and programs of other packages: a distribution that is laid on the path."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import reap_command

from reap.base import extensions, programs
from reap.base.errors import ReapError

ENTRY_POINTS = """[console_scripts]
hello = hello:main

[reap.commands]
hello = hello:COMMANDS

[reap.programs]
hello = hello:make

"""
MODULE = """
import types

import click

COMMANDS = {"hello": ("hello", "Say hello."), "run": ("hello", "Not ours to replace.")}


@click.command()
@click.option("--name", default="you")
def hello(name):
    \"\"\"Say hello.\"\"\"
    print("hello,", name)


def make(name, variant="default", *, scale=None):
    from reap.base.errors import ReapError

    if name != "echo":
        raise ReapError(f"hello makes no {name}", "ask for echo")
    return types.SimpleNamespace(argv=["echo", variant, str(scale)], directory="/", environment={})
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with an installed distribution."""
    folder = tmp_path / "packages"
    (folder / "hello-1.0.dist-info").mkdir(parents=True)
    (folder / "hello-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "hello.py").write_text(MODULE)
    return folder


def reap(package: Path, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(package)}
    return subprocess.run(
        [*reap_command(), *words], env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )


def test_a_command_of_another_package_is_one_of_reap(package: Path, tmp_path: Path) -> None:
    said = reap(package, "--help").stdout
    assert "\n  hello " in said
    assert "Not ours to replace." not in said
    assert reap(package, "hello").stdout == "hello, you\n"
    assert "did you mean hello?" in reap(package, "helo").stderr
    (tmp_path / "reap.toml").write_text('[hello]\nname = "all"\n')
    assert reap(package, "hello", cwd=tmp_path).stdout == "hello, all\n"


def test_a_broken_package_is_named_and_nothing_else_fails(package: Path) -> None:
    (package / "hello.py").write_text("1 / 0\n")
    done = reap(package, "--help")
    assert done.returncode == 0
    assert "\n  compare " in done.stdout
    assert "note: the commands of hello (hello:COMMANDS) cannot be loaded: ZeroDivisionError" in done.stderr
    assert reap(package, "compare", "--help").stderr == ""


@pytest.fixture
def importable(package: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [str(package)])
    extensions.found.cache_clear()
    yield
    extensions.found.cache_clear()
    sys.modules.pop("hello", None)


@pytest.mark.usefixtures("importable")
def test_a_program_is_made_by_the_package_that_knows_it() -> None:
    assert extensions.found(extensions.PROGRAMS) == {"hello": "hello:make"}
    assert programs.make("echo", "twice", scale=3).argv == ["echo", "twice", "3"]
    with pytest.raises(ReapError, match="hello makes no cat"):
        programs.make("cat", "default", scale=None)


def test_without_such_a_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "found", lambda _group: {})
    with pytest.raises(ReapError, match="no package that is installed here makes the program echo") as caught:
        programs.make("echo", "default", scale=None)
    assert "reap-studies" in caught.value.hint
