"""Python packages that a workload's scripts use, from PyPI by their hashes, in a folder of the cache."""

import hashlib
import sys
import tempfile
from pathlib import Path

from reap.api import ReapError
from reap_studies.workloads import card, fetching
from reap_studies.workloads.records import Card


def place(described: Card, cache: Path) -> Path | None:
    """The folder in which they are, or will be, for this version of Python; None of a card without any."""
    if not described.requirements:
        return None
    version = f"{sys.version_info.major}.{sys.version_info.minor}\n"
    digest = hashlib.sha256(version.encode() + _file(described).read_bytes()).hexdigest()[:12]
    return cache / f"{described.name}-modules-{digest}"


def fetch(described: Card, target: Path) -> None:
    """Has pip install them there, whole or not at all. Throws ReapError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        made = Path(scratch) / "made"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        how = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--target", str(made)]
        done = fetching.run([*pip, *how, "--requirement", str(_file(described))], described.name)
        if done.returncode != 0:
            raise ReapError(
                f"the Python packages of {described.name} cannot be installed: {done.stderr.strip()[-500:]}",
                "check the network, and pip's settings (python3 -m pip config list); where pip is missing: "
                "sudo apt-get install python3-pip",
            )
        try:
            made.rename(target)
        except OSError:
            if not target.is_dir():  # else another reap was faster, and installed the same
                raise


def _file(described: Card) -> Path:
    return card.find(described.name) / described.requirements
