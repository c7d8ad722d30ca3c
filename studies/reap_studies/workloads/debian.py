"""Sources of Debian's packages, for programs whose own allocator is switched off where they are compiled.

apt fetches and verifies them, in a state of its own below the cache: neither root nor a `deb-src` line of the
system is needed, and nothing of the system is changed.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reap.api import ExitCode, ReapError
from reap_studies.workloads import fetching


def named(package: str) -> str:
    """The source in the words of a message."""
    return f"Debian's source of {package}"


def place(package: str, cache: Path) -> Path:
    """The folder in which the source of a package is, or will be."""
    return cache / f"{package}-source"


def fetch(package: str, cache: Path) -> Path:
    """Fetches and unpacks what Debian has of the upstream source, unless it is there. Throws ReapError."""
    target = place(package, cache)
    if target.is_dir():
        return target
    if shutil.which("apt-get") is None:
        raise ReapError(
            f"fetching the source of {package} requires apt-get, which is not installed",
            f"unpack its upstream source in {target} yourself",
            ExitCode.NOT_FOUND,
        )
    cache.mkdir(parents=True, exist_ok=True)
    with _lists(cache) as lists, tempfile.TemporaryDirectory(prefix=f".{package}-", dir=cache) as scratch:
        if target.is_dir():  # fetched meanwhile
            return target
        work = Path(scratch)
        apt = _apt(work, lists)
        _run([*apt, "update"], work, package)
        _run([*apt, "source", "--only-source", "--tar-only", package], work, package)
        unpacked = _unpack(work, package)
        try:
            unpacked.rename(target)
        except OSError:
            if not target.is_dir():  # else another reap was faster, and fetched the same
                raise
    return target


@contextlib.contextmanager
def _lists(cache: Path) -> Iterator[Path]:
    """The folder of what archives have, which is kept: a second update loads what has changed.

    One fetches at a time, as apt requires it.
    """
    folder = cache / ".lists"
    (folder / "partial").mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(lock)


def _apt(work: Path, lists: Path) -> list[str]:
    """apt-get with lists and cache of its own, and the sources of what the system takes packages from."""
    listing = subprocess.run(
        [
            "apt-get",
            "indextargets",
            "--format",
            "$(REPO_URI) $(RELEASE) $(COMPONENT)",
            "Created-By: Packages",
        ],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    ).stdout
    lines = [f"deb-src {line}\n" for line in dict.fromkeys(listing.splitlines()) if line.strip()]
    if not lines:
        raise ReapError("apt knows no archive to fetch from", "sudo apt-get update", ExitCode.FAILED)
    (work / "sources.list").write_text("".join(lines))
    (work / "cache/archives/partial").mkdir(parents=True)
    settings = {
        "Dir::Etc::sourcelist": work / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": lists,
        "Dir::Cache": work / "cache",
        "APT::Sandbox::User": "",  # another user cannot write here
        "Acquire::Languages": "none",
    }
    return ["apt-get", "-q", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]


def _run(argv: list[str], work: Path, package: str) -> None:
    done = fetching.run(argv, package, work=work)
    if done.returncode != 0:
        said = done.stderr.strip()[-500:]
        raise ReapError(
            f"the source of {package} cannot be fetched: {argv[0]} said: {said}", "fix that, and repeat"
        )


def _unpack(work: Path, package: str) -> Path:
    tars = sorted(work.glob("*.orig.tar.*")) or sorted(work.glob("*.tar.*"))
    tars = [each for each in tars if each.suffix != ".asc"]
    if not tars:
        raise ReapError(f"apt-get fetched no source of {package}", "name Debian's source package in the card")
    folder = work / "unpacked"
    folder.mkdir()
    # tar, since the tarfile of Debian 12's Python has no filter against paths that lead elsewhere.
    _run(
        ["tar", "--extract", "--no-same-owner", "--file", str(tars[0]), "--directory", str(folder)],
        work,
        package,
    )
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder
