"""The dynamic loader: where a command names it itself, and whether its C library suits the preloads."""

import re
from pathlib import Path

from reap.allocators import elf
from reap.base.errors import ExitCode, ReapError
from reap.launch import native_files
from reap.launch.process import libc

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


def obstacle(image: Path, interpreter: str) -> tuple[str, str] | None:
    """Obstacle that a program's C library is to the preloads, and what to do about it; None if there is none.

    The loader ends a program whose preload needs more than the C library has.
    """
    if "ld-musl" in interpreter:
        return (
            f"{image} is built for the musl C library; reap's preloads and the allocators are for glibc",
            "build it for glibc",
        )
    library = (Path(interpreter).resolve().parent / "libc.so.6").resolve()
    # What this Python runs with was seen to suit when reap was built or installed.
    if not library.exists() or str(library) in Path("/proc/self/maps").read_text():
        return None
    release = libc.release(library)
    needed = max(map(needed_release, native_files.preloads()), default=0)
    if release is None or needed <= release:
        return None
    return (
        f"{image} runs with glibc 2.{release}, and reap's preloads need glibc 2.{needed}",
        "install reap from its wheel, whose preloads need glibc 2.17",
    )


def needed_release(preload: Path) -> int:
    """Minor version of the newest glibc 2 that a preload needs; 0 if it needs none."""
    names = elf.opened(preload).needed_versions()
    found = (re.match(r"GLIBC_2\.(\d+)", name) for name in names)
    return max((int(each[1]) for each in found if each), default=0)
