"""What each test of `make quick` has: its modules, and a checkout."""

import sys

import pytest
from lab.test.setup.quick.checkout import QUICK, git, write


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The modules of setup/quick, importable and forgotten afterwards; `__main__` is pytest's own."""
    monkeypatch.syspath_prepend(str(QUICK))
    yield
    for path in [*QUICK.glob("*.py"), *QUICK.parent.glob("stages/*.py")]:
        if path.stem != "__main__":
            sys.modules.pop(path.stem, None)


@pytest.fixture
def repository(tmp_path):
    """A checkout with one commit on main, and a branch that is checked out."""
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, {"kept": "1", "edited": "1", "deleted": "1", ".gitignore": "build\n"})
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    git(tmp_path, "checkout", "-qb", "topic")
    return tmp_path
