"""Records of programs rebuilt from reports, and how they are started."""

import functools
import shutil
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from building import OUT, compiled
from causes import CAUSES
from known.records import Truth

PROGRAMS = Path(__file__).parents[2] / "targets" / "reports"
MEASURED = Path(__file__).with_name("measured.toml")
_FLAGS = ("-std=c++20", "-g", "-fno-omit-frame-pointer", "-pthread")


@dataclass(frozen=True)
class Report:
    """A program after a public report, and its twin without the fault."""

    name: str
    kind: int
    """The kind of wrong verdict that it is a case of; 11 for patterns that a recording shows."""
    fault: str
    """What is wrong with it, with the report that it is rebuilt from as owner/repository#number."""
    truth: Truth
    source: str
    """Its file in targets/reports; of Go in targets/causes."""
    environment: dict[str, str] = field(default_factory=dict)
    twin_environment: dict[str, str] | None = None
    """Of the twin where that is its environment; else it has `cured` as its last word."""
    missing: str = ""
    """What is not installed here and is needed; empty if all is here."""
    options: tuple[str, ...] = ()
    """Of the interpreter, before its program."""
    ci: bool = False
    """Whether a pass of CI takes it; the bench takes all."""
    held_out: bool = False
    """Whether it was written after the others, to try what was built with them."""


def command(report: Report, scale: float, *, cured: bool = False) -> tuple[list[str], dict[str, str]]:
    """Return the words and the environment of a program, or of its twin. Compiles it if needed."""
    by_word = cured and report.twin_environment is None
    words = [*_start(report, cured=cured), str(scale), *(["cured"] if by_word else [])]
    return words, report.twin_environment or {} if cured and not by_word else report.environment


@functools.cache
def measured() -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return by name of a case and arm the change of CPU time as a part of the baseline.

    The ends of its interval, the lowest first, with the median between. -0.2 is a gain of a fifth.
    """
    return {
        case: {arm: (low, middle, high) for arm, (low, middle, high) in arms.items()}
        for case, arms in tomllib.loads(MEASURED.read_text()).items()
    }


def tool(name: str) -> str:
    """Return `name` if that tool is missing here, else an empty string."""
    return "" if shutil.which(name) else name


def _start(report: Report, *, cured: bool) -> list[str]:
    source = Path(report.source)
    match source.suffix:
        case ".cpp":
            level = "-O0" if source.stem == "unoptimized" and not cured else "-O2"
            return [_cpp_program(source.stem, level), report.name]
        case ".py":
            return [sys.executable, *report.options, str(PROGRAMS / source)]
        case ".js":
            return ["node", *report.options, str(PROGRAMS / source)]
        case ".java":
            return ["java", *report.options, "-cp", _java_classes(source.stem), source.stem]
        case _:
            return [_go_program(source.stem)]


@functools.cache
def _cpp_program(stem: str, level: str) -> str:
    return compiled(f"reports-{stem}{level}", ["g++", level, *_FLAGS, PROGRAMS / f"{stem}.cpp", "-o", OUT])


@functools.cache
def _java_classes(stem: str) -> str:
    return compiled(f"reports-{stem}", ["javac", "-d", OUT, PROGRAMS / f"{stem}.java"])


@functools.cache
def _go_program(stem: str) -> str:
    return compiled(f"{stem}-go", ["go", "build", "-o", OUT, CAUSES / f"{stem}.go"])
