"""What a program leaves behind, and how two such sets differ."""

import hashlib
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SHOWN = 120
"""Characters of a line that are quoted."""


@dataclass(frozen=True)
class Seen:
    """One run of a program."""

    status: int
    """As a shell has it: 128 + N after signal N."""
    streams: dict[str, bytes]
    """Standard output and standard error, by name."""
    files: dict[str, str]
    """What it wrote, by path: kind and mode, and a digest of the contents."""


def files_of(folder: Path) -> dict[str, str]:
    """Every file below a folder, described."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        said = stat.filemode(status.st_mode)
        if path.is_symlink():
            said += f" to {path.readlink()}"
        elif path.is_file():
            said += f" {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
        found[str(path.relative_to(folder))] = said
    return found


class Baseline:
    """What is equal in all runs of a program alone; nothing else is compared."""

    def __init__(self, runs: Sequence[Seen]) -> None:
        first = runs[0]
        self.statuses = {run.status for run in runs}
        self._streams = {name: _common_lines([run.streams[name] for run in runs]) for name in first.streams}
        self._files = {
            path: {run.files.get(path, "") for run in runs}
            for path in sorted({p for run in runs for p in run.files})
        }

    def not_compared(self) -> list[str]:
        """What differs between the runs of the program alone, a phrase each."""
        said = []
        if len(self.statuses) > 1:
            said.append(f"exit status ({', '.join(map(str, sorted(self.statuses)))})")
        for name, lines in self._streams.items():
            if lines is None:
                said.append(name)
            elif varying := lines.count(None):
                said.append(f"{varying} of {len(lines)} lines of {name}")
        varying = [path for path, said_of in self._files.items() if len(said_of) > 1]
        if len(varying) > 3:
            said.append(f"{len(varying)} of {len(self._files)} files")
        else:
            said += [f"file {path}" for path in varying]
        return said

    def differences(self, run: Seen) -> list[str]:
        """What the run did otherwise, a sentence each."""
        said = []
        if run.status not in self.statuses:
            said.append(f"exit status {run.status} instead of {_any(self.statuses)}")
        for name, expected in self._streams.items():
            if expected is not None:
                said += _line_differences(name, expected, run.streams[name].split(b"\n"))
        for path, described in self._files.items():
            is_now = run.files.get(path, "")
            if len(described) == 1 and is_now not in described:
                said.append(f"file {path}: {is_now or 'missing'} instead of {_any(described)}")
        varying = [_pattern(path) for path, described in self._files.items() if len(described) > 1]
        for path in sorted(run.files.keys() - self._files.keys()):
            if not any(re.fullmatch(pattern, path) for pattern in varying):
                said.append(f"file {path} is new")
        return said


def _any(values: set) -> object:
    return next(iter(values))


def _pattern(path: str) -> str:
    """Files with a number or a random word in their names have another one each time."""
    return re.sub(
        r"[A-Za-z]*\d[A-Za-z\d]*|[A-Za-z\d]{6,}", "[A-Za-z0-9_-]+", re.sub(r"([.+*()\[\]^$?])", r"\\\1", path)
    )


def _common_lines(texts: list[bytes]) -> list[bytes | None] | None:
    """The lines, with None for each that varies; None if not even their number is the same."""
    split = [text.split(b"\n") for text in texts]
    if len({len(lines) for lines in split}) > 1:
        return None
    return [lines[0] if len(set(lines)) == 1 else None for lines in zip(*split, strict=True)]


def _line_differences(name: str, expected: list[bytes | None], lines: list[bytes]) -> list[str]:
    for number, (known, line) in enumerate(zip(expected, lines, strict=False), 1):
        if known is not None and known != line:
            return [f"{name}, line {number}: {_quoted(line)} instead of {_quoted(known)}"]
    if len(expected) != len(lines):
        more = _quoted(lines[len(expected)]) if len(lines) > len(expected) else "fewer"
        return [f"{name}: {len(lines) - 1} lines instead of {len(expected) - 1} ({more})"]
    return []


def _quoted(line: bytes) -> str:
    return repr(line.decode(errors="replace")[:_SHOWN])
