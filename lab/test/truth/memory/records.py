"""What is known of a program whose memory stays, and how it is started."""

import functools
import shutil
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from building import OUT, compiled
from causes import TRUTH, static_mimalloc

PROGRAMS = TRUTH / "memory"
MEASURED = Path(__file__).with_name("measured.toml")
WITHIN = 0.1
"""How far settled memory may be from another, as a part of it, to be the same."""
LEAST = 4.0
"""MB that are the same for all that: a remedy that gives less more than another is as good."""
_FLAGS = ("-g", "-O1", "-fno-builtin", "-fno-omit-frame-pointer", "-pthread")
_DEBIAN = Path("/usr/lib/x86_64-linux-gnu")
_LIBRARIES = {
    "jemalloc": _DEBIAN / "libjemalloc.so.2",
    "tcmalloc": _DEBIAN / "libtcmalloc_minimal.so.4",
    "mimalloc": _DEBIAN / "libmimalloc.so.2.0",
}

Environment = dict[str, str]


@dataclass(frozen=True)
class Holding:
    """A program after a public report of memory that stays, and what is true of it."""

    name: str
    fault: str
    """What holds its memory, for the documents."""
    report: str
    """The report that it is rebuilt from, as owner/repository#number."""
    source: str
    """Its file in targets/truth/memory."""
    owners: tuple[str, ...]
    """Parts that hold its memory, as `NAMES` of `reap.rss.records` has them, or `copied`: one of them must be
    named."""
    never: tuple[str, ...] = ()
    """Parts that hold little of it; to name one is wrong. One that is in neither is not judged."""
    remedy: tuple[str, ...] = ()
    """Arms of `measured` that give most back; empty where none gives anything."""
    mode: str = ""
    """Its first word; else its name."""
    environment: Environment = field(default_factory=dict)
    twin: Environment | None = None
    """Environment of the twin; else it has `cured` as its last word."""
    own: dict[str, Environment] = field(default_factory=dict)
    """Arms that only this program has: settings of its runtime or of the allocator that it came with."""
    preloads: tuple[str, ...] = ()
    """Preloads of targets/truth/memory that are arms of this program alone."""
    glibc: bool = True
    """Whether glibc serves malloc, so that its settings and other allocators are arms."""
    linked: bool = False
    """Whether mimalloc is linked into it."""
    handed: bool = False
    """Whether it is one of those that `reap rss` was first tried with; the others are held out."""
    missing: str = ""
    """What is not installed here and is needed; empty if all is here."""
    ci: bool = False
    """Whether a pass of CI asks about it; the bench asks about all."""


def command(case: Holding, scale: float, *, cured: bool = False) -> tuple[list[str], Environment]:
    """Return the words and the environment of a program, or of its twin. Compiles it if needed."""
    by_word = cured and case.twin is None
    words = [*_start(case), case.mode or case.name, str(scale), *(["cured"] if by_word else [])]
    return words, {**case.environment, **(case.twin or {} if cured and not by_word else {})}


def arms(case: Holding) -> dict[str, Environment]:
    """Return what each remedy adds to the environment of a program, by name of the arm."""
    glibc: dict[str, Environment] = {
        "trim": {"LD_PRELOAD": preload("trim")},
        "arena_max": {"MALLOC_ARENA_MAX": "2"},
        "trim_threshold": {"MALLOC_TRIM_THRESHOLD_": "131072"},
        "mmap_threshold": {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=131072"},
        **others(),
    }
    preloads = {name: {"LD_PRELOAD": preload(name)} for name in case.preloads}
    return {**(glibc if case.glibc else {}), **case.own, **preloads}


def others() -> dict[str, Environment]:
    """Return the environment of each other allocator, by name of the arm."""
    return {
        **{name: {"LD_PRELOAD": library(name)} for name in _LIBRARIES},
        "jemalloc_background": {
            "LD_PRELOAD": library("jemalloc"),
            "MALLOC_CONF": "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0",
        },
    }


@functools.cache
def measured() -> dict[str, dict[str, float]]:
    """Return settled MB by name of a case and arm; `alone` is the program as it is."""
    return tomllib.loads(MEASURED.read_text())


def best(settled: Mapping[str, float]) -> set[str]:
    """Return the arms that give most back: within WITHIN or LEAST of the lowest; empty if none gives more."""
    lowest = min(settled.values())
    near = max(lowest * (1 + WITHIN), lowest + LEAST)
    if settled["alone"] <= near:
        return set()
    return {arm for arm, megabytes in settled.items() if megabytes <= near} - {"twin"}


def tool(name: str) -> str:
    """Return `name` if that tool is missing here, else an empty string."""
    return "" if shutil.which(name) else name


def library(name: str) -> str:
    """Return the path of an allocator's library in Debian, whether or not it is installed."""
    return str(_LIBRARIES[name])


def lacking(name: str) -> str:
    """Return the name of an allocator that is not installed here, else an empty string."""
    return "" if _LIBRARIES[name].exists() else name


@functools.cache
def preload(name: str) -> str:
    """Return the path of a preload of targets/truth/memory, compiled: a remedy that any program can have."""
    return compiled(f"{name}.so", ["gcc", "-shared", "-fPIC", "-O1", PROGRAMS / f"{name}.c", "-o", OUT])


def _start(case: Holding) -> list[str]:
    source = PROGRAMS / case.source
    match source.suffix:
        case ".cpp":
            return [_program(linked=case.linked)]
        case ".py":
            return [sys.executable, str(source)]
        case ".rb":
            return ["ruby", str(source)]
        case ".java":
            classes = compiled("memory-java", ["javac", "-d", OUT, source])
            return ["java", "-Xmx64m", "-cp", classes, source.stem]
        case _:
            return [compiled(f"memory-{source.stem}-go", ["go", "build", "-o", OUT, source])]


@functools.cache
def _program(*, linked: bool) -> str:
    more = ["-DLINKED_MIMALLOC", str(static_mimalloc())] if linked else []
    words = ["g++", "-std=c++20", *_FLAGS, PROGRAMS / "memory.cpp", *more, "-o", OUT]
    return compiled("memory-linked" if linked else "memory", words)
