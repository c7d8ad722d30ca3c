"""Sources from git repositories, for programs that no package has and that may not be shipped.

A card names the repository and a commit. The commit's name is a hash of all that it contains, so it does not
matter who serves it. REAP_SOURCES names a folder of bare repositories that are used instead of the network:
NAME or NAME.git, where NAME is the last word of the address. library/bench/suite.py has the same rule.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reap.api import ExitCode, ReapError
from reap_studies.workloads import fetching
from reap_studies.workloads.records import Git

VARIABLE = "REAP_SOURCES"
"""A folder of repositories that are taken instead of those of the network."""
_SETTINGS = ("core.autocrlf=false", "core.hooksPath=/dev/null", "advice.detachedHead=false", "gc.auto=0")
"""What is checked out is what was committed, whatever the user has set, and runs nothing."""
_NO_SUCH_COMMIT = ("not our ref", "couldn't find remote ref", "no such remote ref")
_DAMAGED = ("hash mismatch", "corrupt", "bad object", "unable to unpack", "inflate:")


class UnreachableError(ReapError):
    """The source cannot be had on this machine: no git, or no way to the repository."""


def named(source: Git) -> str:
    """The source in the words of a message."""
    return f"the source of {_name(source)} ({source.git} at {source.commit[:12]})"


def place(source: Git, cache: Path) -> Path:
    """The folder in which the commit is, or will be, checked out."""
    return cache / f"{_name(source)}-{source.commit[:12]}-source"


def repository(source: Git) -> str:
    """Where it is fetched from: the repository of this name in the folder of REAP_SOURCES, or the address."""
    if folder := os.environ.get(VARIABLE):
        for name in (_name(source), f"{_name(source)}.git"):
            if (found := Path(folder).expanduser() / name).is_dir():
                return str(found.resolve())
    return source.git


def fetch(source: Git, cache: Path) -> Path:
    """Checks the commit out unless it is there. Throws ReapError, UnreachableError if it cannot be had."""
    target = place(source, cache)
    if target.is_dir():
        check(source, cache)
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=cache) as scratch:
        clone = Path(scratch) / "clone"
        _git(source, "init", "--quiet", str(clone))
        _fetch_commit(source, clone)
        _git(source, "-C", str(clone), "checkout", "--quiet", "--detach", "FETCH_HEAD")
        _require_commit(source, clone)
        try:
            clone.rename(target)
        except OSError:
            if not target.is_dir():  # else another reap was faster, and fetched the same
                raise
    return target


def check(source: Git, cache: Path) -> None:
    """Throws ReapError unless the checkout is the commit and nothing in it was changed, added or removed."""
    target = place(source, cache)
    _require_commit(source, target)
    changed = _git(source, "-C", str(target), "status", "--porcelain", "--untracked-files=all", "--ignored")
    if lines := changed.stdout.splitlines():
        raise ReapError(
            f"the source of {_name(source)} in {target} was changed after it was fetched: "
            f"{lines[0][3:]}{f' and {len(lines) - 1} more' if len(lines) > 1 else ''}",
            f"rm -r {target}, and repeat: it is fetched again",
        )


def _name(source: Git) -> str:
    return source.git.rstrip("/").rpartition("/")[2].removesuffix(".git")


def _fetch_commit(source: Git, clone: Path) -> None:
    origin = repository(source)
    done = _git(
        source,
        "-C",
        str(clone),
        "fetch",
        "--quiet",
        "--no-tags",
        "--depth=1",
        origin,
        source.commit,
        must=False,
    )
    if done.returncode == 0:
        return
    said = " ".join(done.stderr.split())[-500:]
    if any(words in said for words in _NO_SUCH_COMMIT):
        raise ReapError(
            f"the source of {_name(source)} cannot be fetched: {origin} does not have commit {source.commit}",
            f"update that repository (git -C {origin} fetch)"
            if origin != source.git
            else "correct the card's commit",
        )
    if any(words in said for words in _DAMAGED):
        mend = f"clone that repository again (git -C {origin} fsck says what is damaged), or unset {VARIABLE}"
        raise _wrong(source, origin, said, mend if origin != source.git else "do not use that repository")
    raise UnreachableError(
        f"the source of {_name(source)} cannot be fetched from {origin}: {said}",
        f"check the network; or clone it elsewhere (git clone --bare {source.git}) into a folder, "
        f"and set {VARIABLE}=FOLDER",
    )


def _require_commit(source: Git, clone: Path) -> None:
    """Compares the names, and lets git hash all objects again."""
    again = f"rm -r {clone}, and repeat"
    head = _git(source, "-C", str(clone), "rev-parse", "--verify", "HEAD^{commit}", must=False)
    if head.stdout.strip() != source.commit:
        raise _wrong(source, clone, f"HEAD is {head.stdout.strip() or 'no commit'}", again)
    proved = _git(source, "-C", str(clone), "fsck", "--no-dangling", "--no-progress", must=False)
    if proved.returncode != 0:
        said = proved.stderr or proved.stdout  # a missing object is told on standard output
        raise _wrong(source, clone, " ".join(said.split())[-300:], again)


def _wrong(source: Git, where: object, said: str, hint: str) -> ReapError:
    return ReapError(
        f"the source of {_name(source)} in {where} is not commit {source.commit}: its hash differs ({said})",
        hint,
    )


def _git(source: Git, *words: str, must: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs git, which asks nobody for a password. Throws ReapError; with `must` for its failure, too."""
    if shutil.which("git") is None:
        raise UnreachableError(
            f"the source of {_name(source)} is fetched by git, which is not installed",
            "apt-get install git",
            ExitCode.NOT_FOUND,
        )
    # Where reap is run by a hook of git, its variables name another repository.
    inherited = {key: value for key, value in os.environ.items() if key not in _OF_A_HOOK}
    done = fetching.run(
        ["git", *_with(_SETTINGS), *words],
        _name(source),
        environment={**inherited, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        late=UnreachableError,
    )
    if must and done.returncode != 0:
        raise ReapError(
            f"the source of {_name(source)} cannot be checked out: git said: {done.stderr.strip()[-500:]}",
            "fix that, and repeat",
        )
    return done


_OF_A_HOOK = {
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
}


def _with(settings: Sequence[str]) -> list[str]:
    return [word for setting in settings for word in ("-c", setting)]
