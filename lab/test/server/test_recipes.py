"""The recipes of docs/how-to/server.md, run as they stand there, but for fewer and shorter runs."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timed]

PAGE = Path(__file__).parents[3] / "docs/how-to/server.md"
REAP = 'reap() { "$PYTHON" -c "from reap.cli.main import main; main()" "$@"; }'
SHORT = "compare -n 2 --loads 1 -a glibc,reap -o there --json x.json"
NAMES = ("nginx", "memcached", "PostgreSQL", "Node.js", "gunicorn", "uvicorn", "JVM")


JAVA = ("App.java", "App.class")


def recipe(name: str) -> str:
    """The commands of a recipe."""
    found = re.search(
        rf"^### {re.escape(name)}\n.*?^```\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    assert found, name
    return found[1]


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that the users of servers may write to, too."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_every_recipe_is_run() -> None:
    recipes = PAGE.read_text().partition("## Recipes")[2].partition("\n## ")[0]
    assert re.findall(r"^### (.*)$", recipes, re.MULTILINE) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_measures_the_server(name: str, folder: Path) -> None:
    script = recipe(name).replace("reap compare", f"reap {SHORT}")
    if os.geteuid() != 0:
        script = re.sub(r"^as=.*$", "as=", script, flags=re.MULTILINE)
    script = re.sub(r"-n 2000|=5000|-t 2000|-n 1000", lambda found: found[0][:-1], script)
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", f"{REAP}\n{script}"],
        cwd=folder,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads((folder / "x.json").read_text())["answers"][0]["comparison"]
    (side,) = answer["sides"]
    assert side["verified"]
    assert answer["pairing"]["method"] == "simultaneous"
    assert 1e-6 < side["ratios"]["cpu_per_request"]["baseline"] < 5e-3
    left = {path.name for path in folder.iterdir()}
    assert left <= {
        "there",
        "x.json",
        "pages",
        "site.conf",
        "template",
        "app.js",
        "app.py",
        "__pycache__",
        *JAVA,
    }
    assert not [line for line in processes() if str(folder) in line]


def processes() -> list[str]:
    """The command lines and folders of all processes."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            found.append(f"{(each / 'cwd').readlink()} {(each / 'cmdline').read_text()}")
        except OSError:
            continue
    return found
