"""Starts a program so that its garbage collector says what it does. Not for a run whose time is measured.

CPython gets a file to run at its start (`python_hook`), which adds a callback to its collector and is not to
be seen but for that; Go and the JVM have a log of their own. Go writes its log where the program's standard
error goes, so that the program gets a private file for both. Nothing of this is done to other programs.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from reap.allocators import elf
from reap.launch.records import Launch

Kind = Literal["cpython", "go", "jvm"]

_SLOTS = 1 << 16
"""Bytes: two thousand processes of 32 bytes each."""
_HOOK = Path(__file__).parent / "python_hook"
_MAINS = frozenset({"Py_BytesMain", "Py_Main"})


def kind_of(image: str) -> Kind | None:
    """Whose collector the program has, as far as its file says; None for none that is known."""
    try:
        facts = elf.read(image, _MAINS)
        if elf.has_section(image, ".go.buildinfo"):
            return "go"
    except (OSError, elf.NotElfError):
        return None
    if "libjli.so" in facts.needed:
        return "jvm"
    if facts.exports & _MAINS or any(name.startswith("libpython3") for name in facts.needed):
        return "cpython"
    return None


class Listening:
    """A program to be run so that its collector is heard, and then what it said."""

    def __init__(self, launch: Launch, kind: Kind, folder: Path) -> None:
        self.kind: Kind = kind
        self._folder = folder
        self._begun = {"cpython": self._python, "go": self._go, "jvm": self._jvm}[kind](launch)

    @property
    def launch(self) -> Launch:
        """What to run."""
        return self._begun

    def said(self) -> list[bytes]:
        """What it wrote, a file each: text of Go and of the JVM, slots of numbers of CPython."""
        return [path.read_bytes() for path in sorted(self._folder.iterdir())]

    def _python(self, launch: Launch) -> Launch:
        sink = self._folder / "collections"
        sink.write_bytes(bytes(_SLOTS))
        before = _variable(launch, "PYTHONPATH")
        ours = {
            "REAP_COLLECTIONS": str(sink),
            "PYTHONPATH": ":".join([str(_HOOK), *([before] if before else [])]),
        }
        if before:
            ours["REAP_PYTHONPATH"] = before
        return _with(launch, ours)

    def _go(self, launch: Launch) -> Launch:
        sink = self._folder / "stderr"
        before = _variable(launch, "GODEBUG")
        heard = _with(launch, {"GODEBUG": f"{before},gctrace=1" if before else "gctrace=1"})
        words = ["sh", "-c", 'exec "$@" 2>"$0"', str(sink), launch.program, *launch.argv[1:]]
        return msgspec.structs.replace(heard, program="/bin/sh", argv=words)

    def _jvm(self, launch: Launch) -> Launch:
        log = self._folder / "gc-%p.log"
        old = _version(launch.program) == 8
        option = f"-Xloggc:{log} -XX:+PrintGC" if old else f"-Xlog:gc:file={log}"
        before = _variable(launch, "JAVA_TOOL_OPTIONS")
        return _with(launch, {"JAVA_TOOL_OPTIONS": f"{before} {option}".strip()})


@contextmanager
def listening(launch: Launch, kind: Kind) -> Iterator[Listening]:
    """What to run in place of `launch`, and what was heard. Its files last as long as the context."""
    with tempfile.TemporaryDirectory(prefix="reap-collections-") as folder:
        yield Listening(launch, kind, Path(folder))


def _variable(launch: Launch, name: str) -> str:
    inherited = "" if name in launch.remove else os.environ.get(name, "")
    return launch.environment.get(name, inherited)


def _with(launch: Launch, more: dict[str, str]) -> Launch:
    return msgspec.structs.replace(launch, environment={**launch.environment, **more})


def _version(program: str) -> int:
    """Of a JVM, from the file that comes with it; 0 where it has none."""
    release = Path(os.path.realpath(program)).parents[1] / "release"
    try:
        lines = release.read_text(errors="replace").splitlines()
    except OSError:
        return 0
    value = next(
        (line.partition("=")[2].strip('"') for line in lines if line.startswith("JAVA_VERSION=")), ""
    )
    words = value.removeprefix("1.").split(".")
    return int(words[0]) if words[0].isdigit() else 0
