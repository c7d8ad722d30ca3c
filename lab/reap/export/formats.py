"""Formats of `reap export`, an object each: a new one is a class here and a file in `view` that renders it.

Modules of `view` are imported when they are used: some need packages that are optional.
"""

import shlex
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reap.base.errors import ReapError

if TYPE_CHECKING:
    from reap import native
    from reap.recording.analyse.calls import Calls, Measure
    from reap.recording.records import Profile


@dataclass(frozen=True)
class Export:
    """Recording to be written, the file that has it, and where it goes."""

    recording: "native.Recording"
    file: Path
    target: Path
    measure: "Measure | None"
    force: bool

    @cached_property
    def raw(self) -> "native.CallTree":
        """Every stack, by numbers."""
        return self.recording.calls(0.0)

    @cached_property
    def tree(self) -> "Calls":
        """Every stack, with the names that are to be written."""
        from reap.base import redact
        from reap.recording.analyse.calls import named

        found = named(self.raw)
        return replace(found, places=redact.shared(found.places))

    @cached_property
    def profile(self) -> "Profile":
        """The recording boiled down, with the names that are to be written."""
        from reap.base import redact
        from reap.recording.analyse.profile import profile

        return redact.shared(profile(self.recording, []))


class Format(ABC):
    """A format, with what it needs of a recording."""

    ending: str
    """How the name of the output ends where none is given."""
    measured = False
    """Whether --of chooses what it counts."""
    every_event = False
    """Whether it needs a recording in full depth."""
    from_outside: "tuple[Measure | None, ...]" = ()
    """Values of --of for which a recording by uprobes has what it needs; None: without that option."""

    def prepare(self, target: Path, *, force: bool) -> None:
        """Checks packages and the target before a recording is read. Throws ReapError."""
        from reap.commandline import reporting

        reporting.refuse_existing(target, force=force)

    @abstractmethod
    def write(self, export: Export) -> Path:
        """Writes it; where to. Throws ReapError."""

    @abstractmethod
    def reader(self, target: Path) -> str:
        """Command line that shows the file."""


class _Rendered(Format):
    """A format that is made in memory: what it has of stacks, or of moments, is small."""

    @abstractmethod
    def render(self, export: Export) -> bytes:
        """The whole file."""

    def write(self, export: Export) -> Path:
        from reap.base.files import write_safely

        write_safely(export.target, self.render(export), force=export.force)
        return export.target


class _Stacks(_Rendered):
    """Stacks, counted by one measure."""

    measured = True
    from_outside: "tuple[Measure | None, ...]" = (None, "allocations", "bytes")


class _Collapsed(_Stacks):
    ending = ".collapsed"

    def render(self, export: Export) -> bytes:
        from reap.export.view import collapsed

        return collapsed.render(export.tree, export.measure or "bytes").encode()

    def reader(self, target: Path) -> str:
        return f"flamegraph.pl {_word(target)} >{_word(target.with_suffix('.svg'))}"


class _Speedscope(_Stacks):
    ending = ".speedscope.json"
    from_outside = ("allocations", "bytes")  # it has all of them otherwise

    def render(self, export: Export) -> bytes:
        from reap.export.view import speedscope
        from reap.recording.analyse.calls import MEASURES

        measures = [export.measure] if export.measure else MEASURES
        return speedscope.render(export.tree, measures, export.file.name)

    def reader(self, target: Path) -> str:
        return f"speedscope {_word(target)}"


class _Pprof(_Stacks):
    ending = ".pb.gz"

    def render(self, export: Export) -> bytes:
        from reap.export.view import pprof

        header = export.recording.header()
        comment = f"reap export {export.file.name}"
        measure = export.measure or "bytes"
        return pprof.render(export.tree, measure, header.start_unix_ns, header.seconds, comment)

    def reader(self, target: Path) -> str:
        return f"go tool pprof -http=: {_word(target)}"


class _ChromeTrace(_Rendered):
    ending = ".trace.json"

    def render(self, export: Export) -> bytes:
        from reap.export.view import chrome_trace

        return chrome_trace.render(export.profile)

    def reader(self, target: Path) -> str:
        return f"open {_word(target)} in https://ui.perfetto.dev"


class _Parquet(Format):
    ending = ".parquet"

    def prepare(self, target: Path, *, force: bool) -> None:
        from reap.commandline import reporting
        from reap.export.view import parquet

        parquet.require()
        reporting.require_file(target)
        try:
            if not target.is_dir():
                target.mkdir(mode=0o700)
        except OSError as error:
            raise ReapError(
                f"the folder {target} could not be made: {error.strerror}",
                "name a folder where you may write",
            ) from error
        reporting.refuse_existing(*self._tables(target), force=force)

    def write(self, export: Export) -> Path:
        from reap.base.files import written_safely
        from reap.export.view import parquet

        stacks, events = self._tables(export.target)
        with written_safely(stacks, force=export.force) as stream:
            parquet.write_stacks(stream, export.tree)
        with written_safely(events, force=export.force) as stream:
            parquet.write_events(stream, export.recording, export.raw)
        return export.target

    def reader(self, target: Path) -> str:
        stacks, _ = self._tables(target)
        read = f"import pandas; print(pandas.read_parquet({str(stacks)!r}))"
        return f"python3 -c {shlex.quote(read)}"

    @staticmethod
    def _tables(target: Path) -> tuple[Path, Path]:
        return target / "stacks.parquet", target / "events.parquet"


class _Heaptrack(Format):
    ending = ".heaptrack.gz"
    every_event = True

    def prepare(self, target: Path, *, force: bool) -> None:
        from reap.commandline import reporting

        reporting.require_file(target)
        reporting.refuse_existing(target, force=force)

    def write(self, export: Export) -> Path:
        from reap.base.files import written_safely
        from reap.base.text import command_line
        from reap.export.view import heaptrack

        command, resident = command_line(export.profile.command), export.profile.resident
        with (
            written_safely(export.target, force=export.force) as file,
            heaptrack.compressed(file, export.target) as stream,
        ):
            heaptrack.write(stream, export.recording, export.raw, export.tree, command, resident)
        return export.target

    def reader(self, target: Path) -> str:
        return f"heaptrack_print {_word(target)}"


class _Fleet(Format):
    ending = ".fleet.parquet"
    from_outside = (None,)

    def prepare(self, target: Path, *, force: bool) -> None:  # noqa: ARG002 - a folder that many share
        from reap.commandline import reporting
        from reap.export.view import fleet

        fleet.require()
        reporting.require_file(target)

    def write(self, export: Export) -> Path:
        from reap.base.files import written_safely
        from reap.export.view import fleet

        target = export.target
        path = fleet.file_in(target, export.recording) if target.is_dir() else target
        with written_safely(path, force=export.force) as stream:
            fleet.write(stream, export.recording)
        return path

    def reader(self, target: Path) -> str:
        return f"reap fleet {_word(target.parent)}"


def _word(path: Path) -> str:
    return shlex.quote(str(path))


FORMATS: dict[str, Format] = {
    "collapsed": _Collapsed(),
    "speedscope": _Speedscope(),
    "pprof": _Pprof(),
    "parquet": _Parquet(),
    "chrome-trace": _ChromeTrace(),
    "heaptrack": _Heaptrack(),
    "fleet": _Fleet(),
}
"""By the word of --to."""
