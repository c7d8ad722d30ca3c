"""What changed in the checkout, as git sees it."""

import subprocess
from pathlib import Path


class RefusalError(Exception):
    """The tests cannot be chosen; the text says why and what to do."""


def git(root: Path, *words: str) -> str | None:
    """What a git command prints; None where it fails."""
    answer = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return answer.stdout if answer.returncode == 0 else None


def baseline(root: Path, against: str | None) -> tuple[str, str]:
    """The commit to compare with, and its name for messages.

    It is where HEAD left `against`, else main, else origin/main; on main itself origin/main comes first.
    """
    if git(root, "rev-parse", "--verify", "--quiet", "HEAD") is None:
        raise RefusalError(f"{root} is no git checkout with a commit")
    on_main = (git(root, "symbolic-ref", "--quiet", "--short", "HEAD") or "").strip() == "main"
    names = [against] if against else ["origin/main"] if on_main else ["main", "origin/main"]
    for name in names:
        if (commit := git(root, "merge-base", "HEAD", name)) is not None:
            return commit.strip(), name
    if against:
        raise RefusalError(f"{against} is no revision, or shares no commit with HEAD")
    if on_main:
        return "HEAD", "HEAD (there is no origin/main)"
    raise RefusalError(
        "there is neither main nor origin/main here; name a revision: python3 setup/quick --against REV"
    )


def changed(root: Path, commit: str) -> list[str]:
    """Paths that differ from a commit, in the work tree: edited, added, deleted and untracked."""
    edited = git(root, "diff", "--name-only", "--no-renames", "-z", commit)
    untracked = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    if edited is None or untracked is None:
        raise RefusalError(f"git cannot compare {root} with {commit}")
    return sorted({path for path in (edited + untracked).split("\0") if path})


def tracked(root: Path) -> list[str]:
    """Files that git knows or would add, and that exist."""
    listing = git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z") or ""
    return sorted({path for path in listing.split("\0") if path and (root / path).is_file()})
