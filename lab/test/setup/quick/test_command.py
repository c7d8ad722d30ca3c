"""`make quick` as a whole, with tools that only note how they were called."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lab.test.setup.quick.checkout import QUICK, git, remembered, write

FAKE = """#!/bin/bash
echo "$(basename "$0") $*" >> calls
case "$*" in *test_empty.py*) exit 5;; esac
case "$*" in *test_bad.py*) echo "E because"; exit 1;; *test_long.py*) exec sleep 60;; esac
"""


@pytest.fixture
def tree(repository):
    """A checkout with setup/quick, whose tools note how they were called."""
    shutil.copytree(QUICK, repository / "setup/quick", ignore=shutil.ignore_patterns("__pycache__"))
    (repository / "setup/stages").mkdir()
    shutil.copy(QUICK.parent / "stages" / "session.py", repository / "setup/stages")
    tools = ["python", "ruff", "mypy", "lint-imports", "clang-format"]
    write(
        repository,
        {
            **{f".venv/bin/{name}": FAKE for name in tools},
            "setup/install": FAKE,
            ".gitignore": "build\n.venv\ncalls\n__pycache__\n",
            "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['slow: of seconds', 'long']\n",
            "lab/reap/good.py": "",
            "lab/reap/bad.py": "",
            "lab/reap/empty.py": "",
            "lab/reap/long.py": "",
            "lab/test/test_good.py": "import reap.good, pytest\n@pytest.mark.slow\ndef test_a(): ...\n",
            "lab/test/test_empty.py": "import reap.empty\n",
            "lab/test/test_bad.py": "import reap.bad\n",
            "lab/test/test_long.py": "import reap.long\n",
        },
    )
    for path in [*(repository / ".venv/bin").iterdir(), repository / "setup/install"]:
        path.chmod(0o755)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    return repository


def run(tree: Path, *words: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-B", "setup/quick", "--against", "HEAD", "--jobs", "1", *words]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=60, check=False)


def test_nothing_changed_is_said(tree):
    done = run(tree)
    assert done.returncode == 0
    assert done.stdout == "quick: nothing changed against HEAD; no test was run\n"


def test_a_change_is_linted_installed_and_tested(tree):
    write(tree, {"lab/reap/good.py": "x = 1\n"})
    done = run(tree)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = (tree / "calls").read_text().splitlines()
    assert calls[:5] == [
        "ruff check -q lab/reap/good.py",
        "ruff format --check -q lab/reap/good.py",
        "mypy ",
        "lint-imports --no-logo",
        "install ",
    ]
    assert len(calls) == 7
    assert "-m not slow and not long lab/test/test_good.py" in calls[5]
    assert "-m slow and not long lab/test/test_good.py" in calls[6]
    assert "\n7 passed, 0 failed, in " in done.stdout
    assert "make test" in done.stdout.splitlines()[-1]
    assert "not run" not in done.stdout


def test_a_failure_shows_its_output_and_what_had_no_time_is_named(tree):
    write(tree, {"lab/reap/bad.py": "x = 1\n", "lab/reap/long.py": "x = 1\n", "docs/picture.py": ""})
    remembered(tree, took={"lab/test/test_long.py": [300]})
    done = run(tree, "--seconds", "100")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "    E because" in lines
    assert "failed: lab/test/test_bad.py" in lines
    assert "not run for want of time: lab/test/test_long.py (about 300 s)" in lines
    assert any(
        line.startswith("  run it with: python3 setup/quick --against HEAD --seconds 3") for line in lines
    )
    assert "no test is known for: docs/picture.py" in lines


def test_an_install_that_fails_is_told_once(tree):
    write(tree, {"lab/reap/good.py": "x = 1\n", "setup/install": "#!/bin/sh\nexit 3\n"})
    done = run(tree)
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert (
        "not run, since what they need failed: lab/test/test_good.py, lab/test/test_good.py (slow)"
        in done.stdout
    )


def test_a_file_of_which_no_test_was_selected_is_not_passed_over(tree):
    write(tree, {"lab/reap/empty.py": "x = 1\n"})
    done = run(tree)
    assert done.returncode == 0
    assert "\n5 passed, 0 failed" in done.stdout
    assert re.search(
        "^not run, since all their tests are marked long or .*: lab/test/test_empty.py$",
        done.stdout,
        re.MULTILINE,
    )


def test_without_an_environment_it_says_how_to_make_one(tree):
    write(tree, {"lab/reap/good.py": "x = 1\n"})
    shutil.rmtree(tree / ".venv")
    done = run(tree)
    assert done.returncode == 2
    assert "setup/bootstrap test" in done.stderr
