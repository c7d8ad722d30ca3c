"""CPython collects rarely in a trial, and nothing else of the program is changed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reap.allocators.remedies import table
from reap.launch import collectors

SEEN = """
import gc, json, os, sys
hooks = [entry for entry in sys.path if "python_hook" in entry]
names = ("PYTHONPATH", "REAP_PYTHONPATH", "REAP_COLLECTIONS")
print(json.dumps([gc.get_threshold(), hooks, [os.environ.get(name) for name in names]]))
"""


@pytest.mark.parametrize("before", ["", "/opt/mine"])
def test_the_hook_sets_the_thresholds_and_is_gone(before: str, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    hooked = {**environment, **collectors.python_hooked(before)}
    said = subprocess.run(
        [sys.executable, "-c", SEEN], env=hooked, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    thresholds, hooks, (path, *ours) = json.loads(said.stdout)
    advised = table.named("collect cycles rarely").how
    assert f"gc.set_threshold({thresholds[0]:_}, {thresholds[1]}, {thresholds[2]})" == advised
    assert hooks == []
    assert path == (before or None)
    assert ours == [None, None]
