"""Puts a case to `reap rss`."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from programs import reap_command

from memory.records import Holding, command


def of_rss(case: Holding, *options: str) -> object:
    """Return the JSON of `reap rss` on a case. Throws CalledProcessError where it fails."""
    words, environment = command(case, 1)
    with tempfile.TemporaryDirectory(prefix="reap-memory-") as folder:
        subprocess.run(
            [*reap_command(), "rss", *options, "-f", "-o", "rss.csv", "--json", "rss.json", "--", *words],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        tree: object = json.loads(Path(folder, "rss.json").read_text())
    return tree
