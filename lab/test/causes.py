"""Programs whose cause is known by construction, compiled; what must be said of them is in truth/cases.py and
truth/known."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from building import OUT, compiled

CAUSES = Path(__file__).parent / "targets" / "causes"

TRUTH = Path(__file__).parent / "targets" / "truth"
JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a")
"""jemalloc as an archive, of Debian's package libjemalloc-dev."""

Linked = Literal["", "static", "jemalloc", "prefixed", "mimalloc"]
"""What is linked into a program: nothing, all of it, jemalloc as malloc, jemalloc under names of its own, or
mimalloc under its own names."""

_FLAGS = ("-g", "-O1", "-fno-builtin", "-fno-omit-frame-pointer", "-pthread")


@functools.cache
def cause_program() -> str:
    """The path of the C program, compiled. Its words are a mode and a scale."""
    return compiled("cause", ["gcc", *_FLAGS, *sorted(CAUSES.glob("*.c")), "-o", OUT])


@functools.cache
def cpp_program() -> str:
    """The path of the C++ program, compiled. Its words are the same."""
    return compiled("cause-cpp", ["g++", "-std=c++20", *_FLAGS, CAUSES / "cause.cpp", "-o", OUT])


@functools.cache
def go_program() -> str:
    """The path of the Go program, built without the network; throws where there is no Go."""
    return compiled("collect-go", ["go", "build", "-o", OUT, CAUSES / "collect.go"])


@functools.cache
def java_classes() -> str:
    """The folder of the Java program, compiled; throws where there is no JDK."""
    return compiled("collect-java", ["javac", "-d", OUT, CAUSES / "Collect.java"])


@functools.cache
def known_program(source: str, linked: Linked = "", *, stripped: bool = False) -> str:
    """The path of a program of targets/truth, compiled. Its words are a mode, a scale and `cured`.

    Throws CalledProcessError or OSError where a compiler or an archive is not installed.
    """
    if stripped:
        whole = Path(known_program(source, linked))
        return compiled(f"{whole.name}-stripped", ["strip", "-o", OUT, str(whole)])
    file, name = TRUTH / source, f"{Path(source).stem}-{linked or 'plain'}"
    if file.suffix == ".rs":
        archive = prefixed_jemalloc()
        search = ["-L", str(archive.parent), "-l", "static=je", "-l", "stdc++", "-l", "m"]
        return compiled(name, ["rustc", "--edition=2021", "-O", "-g", *search, file, "-o", OUT])
    more: dict[Linked, Callable[[], list[str | Path]]] = {
        "": list,
        "static": lambda: ["-static"],
        "jemalloc": lambda: [JEMALLOC, "-ldl", "-lm"],
        "prefixed": lambda: ["-DLINKED_PREFIXED", prefixed_jemalloc(), "-ldl", "-lm"],
        "mimalloc": lambda: ["-DLINKED_MIMALLOC", static_mimalloc()],
    }
    compiler = ["gcc"] if file.suffix == ".c" else ["g++", "-std=c++20"]
    return compiled(name, [*compiler, *_FLAGS, file, *map(str, more[linked]()), "-o", OUT])


@functools.cache
def prefixed_jemalloc(prefix: str = "je_") -> Path:
    """jemalloc under names that begin with `prefix`, as Redis and (`_rjem_`) Rust's crate have it."""
    names = "malloc calloc realloc free aligned_alloc posix_memalign memalign valloc malloc_usable_size"
    own = "mallocx rallocx xallocx sallocx dallocx sdallocx nallocx mallctl mallctlnametomib mallctlbymib"
    renamed = [f"--redefine-sym={name}={prefix}{name}" for name in (names + " " + own).split()]
    return Path(compiled(f"lib{prefix.strip('_')}.a", ["objcopy", *renamed, str(JEMALLOC), OUT]))


@functools.cache
def static_mimalloc() -> Path:
    """mimalloc under names that begin with `mi_`, as the build of its crate leaves it."""
    build = ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", OUT]
    folder = compiled("mimalloc", build, tree=TRUTH / "mimalloc")
    (archive,) = Path(folder).glob("release/build/libmimalloc-sys-*/out/libmimalloc.a")
    return archive
