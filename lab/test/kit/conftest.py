"""A kit, made once."""

import subprocess
from collections.abc import Callable

import pytest
from programs import reap

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="session")
def kit(tmp_path_factory):
    """The folder that `reap record --kit` makes."""
    folder = tmp_path_factory.mktemp("made") / "kit"
    done = reap("record", "--kit", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def by_kit(kit, tmp_path) -> Run:
    """Runs reap-record in a folder of its own, with no environment unless one is given."""

    def run(*words, **options):
        given = {"env": {}, "cwd": tmp_path, "stdin": subprocess.DEVNULL, "capture_output": True, **options}
        return subprocess.run([kit / "reap-record", *map(str, words)], check=False, text=True, **given)

    return run
