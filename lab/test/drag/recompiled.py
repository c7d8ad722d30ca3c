"""Programs built by reap-drag-cc, and how they are run."""

import functools
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from recorded import drag_compiled

from reap.drag.exact.records import DragProfile

BIN = Path(sys.executable).parent


COMPILERS = ["gcc", pytest.param("clang-19", marks=pytest.mark.workloads)]


@functools.cache
def built(name: str, compiler: str = "") -> str:
    """One of the targets, by reap-drag-cc."""
    return drag_compiled(name, "-O1", "-w", "-pthread", "-fno-builtin", compiler=compiler)


def recompiled(folder: Path, *command: str) -> tuple[DragProfile, subprocess.CompletedProcess]:
    file = folder / "recompiled.json"
    options = ["--engine", "recompiled", "--json", str(file), "--force"]
    done = subprocess.run(
        [BIN / "reap", "drag", *options, "--", *command], capture_output=True, text=True, check=False
    )
    assert file.exists(), done.stderr
    return msgspec.json.decode(file.read_bytes(), type=DragProfile), done
