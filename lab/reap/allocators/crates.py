"""Sources from crates.io, by cargo and a lock file: what comes is what the lock has the hashes of."""

import json
import os
import shutil
from pathlib import Path

from reap.allocators import recipe
from reap.allocators.process import Runner
from reap.allocators.recipe import Crate
from reap.base.errors import ReapError

CARGO_HINT = (
    "sudo apt-get install --no-install-recommends cargo-web (on Debian 12, whose cargo is too old; elsewhere "
    "cargo), or rustup"
)
"""How to get a cargo of 1.70 or later: an older one fetches the registry's whole index by git. A crate of
edition 2024 needs 1.85."""

_PATIENCE = 600
"""Seconds. cargo itself gives up sooner on a connection that stalls."""


def fetch(crate: Crate, work: Path, runner: Runner) -> Path:
    """A copy of the crate's source below `work`. Throws ReapError, OSError."""
    project = work / "crates"
    project.mkdir()
    for name in (recipe.MANIFEST, recipe.LOCK):
        shutil.copyfile(recipe.FOLDER / crate.lock / name, project / name)
    # Fetches what is not there yet, obeys the user's mirrors and proxies, and says where the sources are.
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    done = runner.run(command, cwd=project, environment=dict(os.environ), seconds=_PATIENCE)
    if done.returncode != 0:
        raise ReapError(
            f"cargo could not fetch crate {crate.name} {crate.version}; it says:\n{runner.tail(12)}",
            "fix what it names and repeat. Behind a proxy or with a mirror it needs the settings for them "
            "(~/.cargo/config.toml). A cargo before 1.70 may not do, for some crates none before 1.85: "
            f"{CARGO_HINT}",
        )
    packages = json.loads(done.stdout)["packages"]
    (manifest,) = (Path(each["manifest_path"]) for each in packages if each["name"] == crate.name)
    try:
        return Path(shutil.copytree(manifest.parent, work / "source"))
    except shutil.Error as error:  # goes on past every file that cannot be copied: the first says it
        raise OSError(error.args[0][0][2]) from error
