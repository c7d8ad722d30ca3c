"""Programs whose cause is known by construction: what is run, and what must be said of it."""

import functools
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from building import OUT, compiled

from reap.allocators import catalog
from reap.allocators.records import Allocator

CAUSES = Path(__file__).parent / "targets" / "causes"


@dataclass(frozen=True)
class Case:
    """One program, and the cause that a verdict must name."""

    name: str
    cause: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    missing: str = ""
    """What is not installed here and is needed to run it; empty if all is here."""


_MODES = {
    "tcache": "tcache overflow",
    "arena": "arena lock",
    "brk": "brk thrash",
    "mmap": "mmap thrash",
    "faults": "page faults",
    "pin": "pin at the top",
    "calloc": "clearing and copying",
    "parse": "parsing",
    "lock": "a lock of its own",
    "disk": "disk",
    "network": "network",
    "nothing": "nothing",
}
"""Of the C program, by mode. `many` is in no suite of causes: its allocator is busy and on its fast path."""


@functools.cache
def cause_program() -> str:
    """The path of the C program, compiled. Its words are a mode and a scale."""
    sources = sorted(CAUSES.glob("*.c"))
    flags = ["-g", "-O1", "-fno-builtin", "-fno-omit-frame-pointer", "-pthread"]
    return compiled("cause", ["gcc", *flags, *sources, "-o", OUT])


@functools.cache
def go_program() -> str:
    """The path of the Go program, built without the network; throws where there is no Go."""
    return compiled("collect-go", ["go", "build", "-o", OUT, CAUSES / "collect.go"])


@functools.cache
def java_classes() -> str:
    """The folder of the Java program, compiled; throws where there is no JDK."""
    return compiled("collect-java", ["javac", "-d", OUT, CAUSES / "Collect.java"])


def suite(scale: float = 1.0) -> list[Case]:
    """Every case; those that cannot be run here say what is missing."""
    words = [str(scale)]
    jemalloc = catalog.find("jemalloc")
    library = jemalloc.library if isinstance(jemalloc, Allocator) else ""
    lazy = {"LD_PRELOAD": library, "MALLOC_CONF": "dirty_decay_ms:50,muzzy_decay_ms:600000"}
    return [
        *(Case(mode, cause, [cause_program(), mode, *words]) for mode, cause in _MODES.items()),
        Case("lazy", "lazy free", [cause_program(), "lazy", *words], lazy, "" if library else "libjemalloc2"),
        Case("cpython", "garbage collection", [sys.executable, str(CAUSES / "collect.py"), *words]),
        _of_go(words),
        _of_java(words),
    ]


def _of_go(words: list[str]) -> Case:
    missing = "" if shutil.which("go") else "golang"
    program = "" if missing else go_program()
    return Case("go", "garbage collection", [program, *words], {"GOGC": "10"}, missing)


def _of_java(words: list[str]) -> Case:
    missing = "" if shutil.which("java") and shutil.which("javac") else "a JDK"
    folder = "" if missing else java_classes()
    options = ["-Xmx68m", "-XX:+UseSerialGC", "-cp", folder]
    return Case("java", "garbage collection", ["java", *options, "Collect", *words], missing=missing)
