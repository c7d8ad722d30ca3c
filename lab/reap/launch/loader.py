"""The dynamic loader, where a command names it itself."""

from pathlib import Path

from reap.base.errors import ExitCode, ReapError

_WITH_VALUE = frozenset(
    {"--library-path", "--inhibit-rpath", "--audit", "--preload", "--argv0"}
    | {"--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"}
)
_WITHOUT_VALUE = frozenset({"--inhibit-cache"})
"""Options beside those with which it only tells something."""


def is_loader(image: Path) -> bool:
    """Whether this is the loader of glibc, by its name."""
    return image.name.startswith("ld-linux")


def program_of(image: Path, arguments: list[str]) -> str:
    """The path of what the loader runs with these arguments. Throws ReapError (126) where that is nothing.

    A name without a slash is searched for among the libraries, and is no program here.
    """
    words = iter(arguments)
    for word in words:
        if word in _WITH_VALUE:
            next(words, "")
        elif not word.startswith("--") and "/" in word:
            return word
        elif word not in _WITHOUT_VALUE:
            break
    raise ReapError(
        f"{image} is the loader, and no program is named that it runs",
        "give the program itself",
        ExitCode.NOT_EXECUTABLE,
    )
