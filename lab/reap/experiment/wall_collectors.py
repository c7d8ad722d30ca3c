"""What garbage collectors say of themselves, asked for in the counted run: CPython's, Go's, the JVM's.

The run that is sampled is asked for nothing. What a collector took in the counted run is scaled to the
sampled one by the processor time of both.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from reap.analysis.wall_records import Collector

_PYTHON = re.compile(r"/(python3?(\.\d+)?|libpython3[^/]*\.so[^/]*)$")
_HOOK = '''\
"""Counts CPython's collections for reap wall; then the sitecustomize that would have been imported."""

import atexit
import gc
import os
import sys
import time

_begin = _count = _pauses = 0


def _listen(phase, _info):
    global _begin, _count, _pauses
    if phase == "start":
        _begin = time.perf_counter_ns()
    else:
        _count += 1
        _pauses += time.perf_counter_ns() - _begin


def _write(_path=os.path.join(os.path.dirname(os.path.abspath(__file__)), "pauses")):
    line = f"{_count} {_pauses}\\n".encode()
    file = os.open(_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line)
    os.close(file)


gc.callbacks.append(_listen)
atexit.register(_write)
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [each for each in sys.path if os.path.abspath(each) != _here]
del sys.modules[__name__]
try:
    import sitecustomize  # noqa: F401 - the program's own
except ImportError:
    pass
'''
_PAUSE = re.compile(r"\bPause\b.*?([\d.,]+)ms\s*$|\[(?:Full )?GC\b.*?([\d.,]+) secs\]", re.MULTILINE)
_GCTRACE = re.compile(r"^gc (\d+) @", re.MULTILINE)


def ask(files: Iterable[str], functions: Iterable[str], folder: Path) -> dict[str, str]:
    """Variables for the counted run by which the collectors that were seen write what they do.

    `files` were mapped in the sampled run, `functions` were sampled in it. What they write goes to `folder`.
    """
    mapped = list(files)
    asked: dict[str, str] = {}
    if any(_PYTHON.search(path) for path in mapped):
        hook = folder / "python"
        hook.mkdir(mode=0o700, exist_ok=True)
        (hook / "sitecustomize.py").write_text(_HOOK)
        (hook / "pauses").unlink(missing_ok=True)
        asked["PYTHONPATH"] = os.pathsep.join(filter(None, [str(hook), os.environ.get("PYTHONPATH", "")]))
        asked["PYTHONDONTWRITEBYTECODE"] = os.environ.get("PYTHONDONTWRITEBYTECODE", "") or "1"
    if any(path.endswith("/libjvm.so") for path in mapped):
        for old in folder.glob("jvm-*.log"):
            old.unlink()
        before = os.environ.get("JAVA_TOOL_OPTIONS", "")
        asked["JAVA_TOOL_OPTIONS"] = f"{before} -Xloggc:{folder / 'jvm-%p.log'}".strip()
    if any(name.startswith("runtime.") for name in functions):
        asked["GODEBUG"] = ",".join(filter(None, [os.environ.get("GODEBUG", ""), "gctrace=1"]))
    return asked


def heard(folder: Path, said: str, sampled: list[Collector], *, scale: float) -> list[Collector]:
    """The collectors with their counts and pauses; `said` is the end of the run's standard error.

    `scale` is the sampled run's processor time as a part of the counted one's.
    """
    found = {each.kind: each for each in sampled}
    if numbers := _python(folder):
        count, seconds = numbers
        # It stops the program and runs on its processor.
        found["cpython"] = Collector(
            kind="cpython", count=count, pause_seconds=seconds * scale, cpu_seconds=seconds * scale
        )
    if numbers := _jvm(folder):
        count, seconds = numbers
        held = found.get("jvm")
        found["jvm"] = Collector(
            kind="jvm",
            count=count,
            pause_seconds=seconds * scale,
            cpu_seconds=held.cpu_seconds if held else None,
        )
    if counts := _GCTRACE.findall(said):
        held = found.get("go")
        found["go"] = Collector(
            kind="go", count=int(counts[-1]), cpu_seconds=held.cpu_seconds if held else None
        )
    return list(found.values())


def _python(folder: Path) -> tuple[int, float] | None:
    lines = _text(folder / "python" / "pauses").split()
    if not lines:
        return None
    return sum(int(each) for each in lines[::2]), sum(int(each) for each in lines[1::2]) * 1e-9


def _jvm(folder: Path) -> tuple[int, float] | None:
    logs = list(folder.glob("jvm-*.log"))
    if not logs:
        return None
    pauses = [match for log in logs for match in _PAUSE.findall(_text(log))]
    seconds = sum(_number(ms) * 1e-3 if ms else _number(whole) for ms, whole in pauses)
    return len(pauses), seconds


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
