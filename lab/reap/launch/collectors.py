"""Starts a program so that its garbage collector says what it does. Not for a run whose time is measured.

CPython gets a file to run at its start (`python_hook`), which adds a callback to its collector and is not to
be seen but for that; Node.js gets one, too (`node_hook`); Go and the JVM have a log of their own. Go writes
its log where the program's standard error goes, so that the program gets a private file for both. Nothing of
this is done to other programs.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from reap.base.files import beginning
from reap.launch.records import Launch

Kind = Literal["cpython", "go", "jvm", "v8"]

_SLOTS = 1 << 16
"""Bytes: two thousand processes of 32 bytes each."""
_HOOK = Path(__file__).parent / "python_hook"
_JVM = "libjvm.so"
_NODE_HOOK = Path(__file__).parent / "node_hook" / "collections.cjs"
_NODE = re.compile(r"/(node|nodejs|libnode\.so[^/]*)$")
_NODE_REFUSES = re.compile(r"--(experimental-)?(permission|policy)(=.*)?")
"""Options under which Node.js may read only the files that it was told of: it would end at ours."""
_PYTHON = re.compile(r"/(python3?(\.\d+)?|libpython3[^/]*\.so[^/]*)$")


def kind_of(files: Iterable[str], functions: Iterable[str]) -> Kind | None:
    """Kind of a program's collector, by the files that it maps and the functions it runs; None if unknown.

    Go's programs are told by a function: stripped ones keep their names for panics.
    """
    mapped = list(files)
    if any(path.endswith(f"/{_JVM}") for path in mapped):
        return "jvm"
    if any(_PYTHON.search(path) for path in mapped):
        return "cpython"
    names = list(functions)
    if any(_NODE.search(path) for path in mapped) or any(name.startswith("v8::") for name in names):
        return "v8"
    return "go" if any(name.startswith("runtime.") for name in names) else None


class Listening:
    """A program to be run so that its collector is heard, and then what it said."""

    def __init__(self, launch: Launch, kind: Kind, folder: Path, files: Sequence[str]) -> None:
        self._folder = folder
        self._files = files
        self._begun = {"cpython": self._python, "go": self._go, "jvm": self._jvm, "v8": self._v8}[kind](
            launch
        )

    @property
    def launch(self) -> Launch:
        """Launch that listens."""
        return self._begun

    def said(self) -> list[bytes]:
        """Contents of the files that it wrote: text of Go, the JVM and V8, numbers of CPython."""
        return [beginning(path) for path in sorted(self._folder.iterdir())]

    def _python(self, launch: Launch) -> Launch:
        sink = self._folder / "collections"
        sink.write_bytes(bytes(_SLOTS))
        return _with(
            launch, {"REAP_COLLECTIONS": str(sink), **python_hooked(_variable(launch, "PYTHONPATH"))}
        )

    def _go(self, launch: Launch) -> Launch:
        sink = self._folder / "stderr"
        before = _variable(launch, "GODEBUG")
        heard = _with(launch, {"GODEBUG": f"{before},gctrace=1" if before else "gctrace=1"})
        words = ["sh", "-c", 'exec "$@" 2>"$0"', str(sink), launch.program, *launch.argv[1:]]
        return msgspec.structs.replace(heard, program="/bin/sh", argv=words)

    def _jvm(self, launch: Launch) -> Launch:
        name = str(self._folder / "gc-%p.log")
        log = f"'{name}'" if re.search(r"\s", name) else name
        old = any(_version(path) == 8 for path in self._files if path.endswith(f"/{_JVM}"))
        option = f"-Xloggc:{log} -XX:+PrintGC" if old else f"-Xlog:gc:file={log}"
        before = _variable(launch, "JAVA_TOOL_OPTIONS")
        return _with(launch, {"JAVA_TOOL_OPTIONS": f"{before} {option}".strip()})

    def _v8(self, launch: Launch) -> Launch:
        before = _variable(launch, "NODE_OPTIONS")
        if any(_NODE_REFUSES.fullmatch(word) for word in (*launch.argv, *before.split())):
            return launch
        hook = str(_NODE_HOOK)
        if re.search(r'[\s"\\]', hook):  # before version 12, quotes are taken for a part of the name
            hook = '"' + hook.replace("\\", "\\\\").replace('"', '\\"') + '"'
        ours = {
            "REAP_COLLECTIONS": str(self._folder),
            "NODE_OPTIONS": f"{before} --require {hook}".strip(),
        }
        return _with(launch, ours)


@contextmanager
def listening(launch: Launch, kind: Kind, files: Sequence[str] = ()) -> Iterator[Listening]:
    """Yields what to run in place of `launch`; what was heard is there until the context ends.

    `files` are what the program maps: its JVM says by them which options it knows.
    """
    # What goes on in the background may write there at any time.
    with tempfile.TemporaryDirectory(prefix="reap-collections-", ignore_cleanup_errors=True) as folder:
        yield Listening(launch, kind, Path(folder), files)


def python_hooked(before: str) -> dict[str, str]:
    """The variables by which CPython runs the hook first; `before` is what PYTHONPATH is without it.

    Without REAP_COLLECTIONS the hook has it collect rarely.
    """
    if not before:
        return {"PYTHONPATH": str(_HOOK)}
    return {"PYTHONPATH": f"{_HOOK}:{before}", "REAP_PYTHONPATH": before}


def _variable(launch: Launch, name: str) -> str:
    inherited = "" if name in launch.remove else os.environ.get(name, "")
    return launch.environment.get(name, inherited)


def _with(launch: Launch, more: dict[str, str]) -> Launch:
    return msgspec.structs.replace(launch, environment={**launch.environment, **more})


def _version(library: str) -> int:
    """Of a JVM by its libjvm.so, from a file that comes with it; 0 where there is none."""
    for folder in Path(os.path.realpath(library)).parents:
        try:
            lines = (folder / "release").read_text(errors="replace").splitlines()
        except OSError:
            continue
        held = next((line.partition("=")[2] for line in lines if line.startswith("JAVA_VERSION=")), "")
        words = held.strip('"').removeprefix("1.").split(".")
        return int(words[0]) if words[0].isdigit() else 0
    return 0
