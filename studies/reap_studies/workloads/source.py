"""Where the source of a card is kept, and how it comes there: by apt or by git, verified by either."""

from pathlib import Path

from reap_studies.workloads import debian, git
from reap_studies.workloads.records import Git


def named(source: str | Git) -> str:
    """The source in the words of a message."""
    return git.named(source) if isinstance(source, Git) else f"Debian's source of {source}"


def place(source: str | Git, cache: Path) -> Path:
    """The folder in which the source is, or will be."""
    return git.place(source, cache) if isinstance(source, Git) else debian.place(source, cache)


def fetch(source: str | Git, cache: Path) -> Path:
    """Fetches the source unless it is there. Throws ReapError."""
    return git.fetch(source, cache) if isinstance(source, Git) else debian.fetch(source, cache)


def check(source: str | Git, cache: Path) -> None:
    """Throws ReapError if what is there is not what was fetched; of Debian's that is not known."""
    if isinstance(source, Git):
        git.check(source, cache)
