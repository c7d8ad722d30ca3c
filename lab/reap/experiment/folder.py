"""The folder of an experiment: what it is, and every run as it ended.

    experiment.json   what is measured, on which machine; its rounds and its budget may grow
    runs.jsonl        one run a line, appended and synced when it ends
    stdin             what the program reads, if it reads anything

A kill at any moment loses the run that was going on and nothing else: a last line that was cut short is
passed over. The folder may hold a program's secrets (its arguments and environment), so it is private.
"""

import contextlib
import fcntl
import os
import shlex
import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

import reap
from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.base.files import elsewhere, read_back, write_safely
from reap.base.records import Record, decode
from reap.experiment.records import Run
from reap.experiment.spec import Spec, changed_files
from reap.launch.host import machine
from reap.launch.records import Machine
from reap.server.records import Server

SCHEMA = 1
"""Raised when a field changes its meaning."""

Line = TypeVar("Line", bound=Record)

_EXPERIMENT = "experiment.json"


class Experiment(Record, kw_only=True):
    """Contents of experiment.json."""

    schema: int = SCHEMA
    reap_version: str
    created: str
    """ISO 8601, UTC."""
    machine: Machine
    spec: Spec
    extended_after: list[int] = []
    """How many rounds there were each time that somebody asked for more of them."""


def spec_beside(file: Path) -> Spec | None:
    """Spec of the experiment in whose folder a file is; None where there is none, or it is damaged."""
    folder = file.absolute().parent
    if (folder / _EXPERIMENT).is_file():
        with contextlib.suppress(ReapError):
            return _read_experiment(folder).spec
    return None


class Open:
    """A folder that is open, with its log. While it is open no other process can open it."""

    def __init__(self, path: Path, log: FileIO) -> None:
        self.path = path
        self._log = log

    def close(self) -> None:
        """Lets go of the folder."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Folder(Open):
    """An open experiment."""

    def __init__(self, path: Path, experiment: Experiment, runs: list[Run], log: FileIO) -> None:
        super().__init__(path, log)
        self.experiment = experiment
        self.runs = runs
        """Those that have ended, in order."""

    @classmethod
    def create(
        cls,
        path: Path,
        spec: Spec,
        stdin: Iterable[bytes] | None = None,
        *,
        more: Mapping[str, bytes] | None = None,
        force: bool = False,
    ) -> Self:
        """Makes the folder, and spools standard input into it.

        `more` are files by name that the experiment rests on: they are there before the folder counts as one.
        Throws ReapError if the path exists, unless `force` is set and it is an experiment's folder, and if it
        cannot be written; then nothing of it stays.
        """
        path = path.absolute()
        _make_room(path, force=force)
        experiment = Experiment(
            reap_version=reap.__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            machine=machine.describe(),
            spec=spec,
        )
        try:
            path.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise _cannot_make(path, error) from error
        log: FileIO | None = None
        try:
            if stdin is not None:
                with open(path / "stdin", "wb", opener=_private) as file:
                    file.writelines(stdin)
            log = os.fdopen(_private(str(path / "runs.jsonl"), _APPEND), "ab", buffering=0)
            for name, data in (more or {}).items():
                _write_synced(path / name, data)
            # Last, so that a folder with this file is whole.
            _write_synced(path / _EXPERIMENT, _text_of(experiment))
        except BaseException as error:
            # Half a folder is of no use to anyone, whether a disk was full or somebody grew impatient.
            if log is not None:
                log.close()
            shutil.rmtree(path, ignore_errors=True)
            if isinstance(error, OSError):
                raise _cannot_make(path, error) from error
            raise
        lock(path, log)
        return cls(path, experiment, [], log)

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Opens a folder to go on with it.

        Throws ReapError if it is no experiment's folder, is damaged, is in use, or if the program or an
        allocator is no longer what it was.
        """
        path = path.absolute()
        experiment = _read_experiment(path)
        if changed := changed_files(experiment.spec):
            raise ReapError(
                f"{path} cannot be resumed: {', '.join(changed)} changed since it began",
                "begin a new experiment; runs of two different programs cannot be compared",
            )
        try:
            log = (path / "runs.jsonl").open("r+b", buffering=0)
        except OSError as error:
            what = f"{path}/runs.jsonl cannot be opened: {error.strerror}"
            raise ReapError(what, "begin a new experiment") from error
        lock(path, log)
        runs, whole = read_runs(path / "runs.jsonl")
        log.truncate(whole)
        log.seek(whole)
        return cls(path, experiment, runs, log)

    @property
    def rounds(self) -> int:
        """Number of rounds that have begun."""
        return max((run.cell.repeat + 1 for run in self.runs if not run.warmup), default=0)

    def extend(self, runs: int | None, budget: float | None) -> None:
        """Gives the experiment more rounds or more seconds, in all; what is not named bounds it no longer.

        Throws ReapError where it has had as much already, or cannot be written.
        """
        spent = sum(run.seconds for run in self.runs)
        if runs is not None and runs <= self.rounds:
            raise _has_had(f"{units.number(self.rounds, 'round')} already", f"--runs {2 * self.rounds}")
        if budget is not None and budget <= spent:
            raise _has_had(f"taken {units.duration(spent)} already", f"--budget {2 * spent:.0f}")
        self._change(
            msgspec.structs.replace(self.spec, runs=runs or 0, budget=budget),
            extended_after=[*self.experiment.extended_after, self.rounds],
        )

    def extend_search(self, runs: int) -> None:
        """Gives a search for settings more runs, in all. Throws ReapError as `extend` does."""
        tune = self.spec.tune
        had = max(tune.most, tune.extended) if tune else 0
        if tune is None or runs <= had:
            raise _has_had(f"{units.number(had, 'run')} already", f"--runs {2 * had}")
        self._change(msgspec.structs.replace(self.spec, tune=msgspec.structs.replace(tune, extended=runs)))

    def plan(self, server: Server) -> None:
        """Keeps how often each start of the experiment's server is loaded. Throws ReapError."""
        self._change(msgspec.structs.replace(self.spec, server=server))

    def _change(self, spec: Spec, **more: list[int]) -> None:
        self.experiment = msgspec.structs.replace(self.experiment, spec=spec, **more)
        write_safely(self.path / _EXPERIMENT, _text_of(self.experiment), force=True)

    def extension_notes(self) -> list[str]:
        """An interval for a fixed number of rounds says less where that number follows from the results."""
        looks = [str(rounds) for rounds in self.experiment.extended_after if rounds]
        note = (
            f"rounds were added after {' and '.join(looks)}: if that was for what these showed, "
            "the intervals leave the truth out more often than 1 time in 20"
        )
        return [note] if looks else []

    @property
    def spec(self) -> Spec:
        """Spec of the experiment."""
        return self.experiment.spec

    @property
    def resume_command(self) -> str:
        """Command that resumes the experiment."""
        return shlex.join(["reap", self.spec.verb, "--resume", str(self.path)])

    @property
    def stdin(self) -> str:
        """The spooled standard input, or empty."""
        return str(self.path / "stdin") if self.spec.stdin else ""

    def append(self, run: Run) -> None:
        """Keeps a run; when this returns it survives a kill and a power cut. Throws ReapError."""
        try:
            append_line(self._log, run)
        except OSError as error:
            raise _cannot_write(self, error) from error
        self.runs.append(run)


def _text_of(experiment: Experiment) -> bytes:
    return msgspec.json.format(msgspec.json.encode(experiment), indent=2) + b"\n"


def _has_had(what: str, more: str) -> ReapError:
    return ReapError(f"the experiment has {what}", f"ask for more in all, such as {more}", ExitCode.USAGE)


def append_line(log: FileIO, line: Record) -> None:
    """Writes a line of a log that is open unbuffered, and syncs it. Throws OSError."""
    append_bytes(log, msgspec.json.encode(line))


def append_bytes(log: FileIO, line: bytes) -> None:
    """Writes a line that is encoded already, as `append_line`. Throws OSError."""
    # Unbuffered: what a full disk refuses must not come back when the log is closed.
    rest = memoryview(line + b"\n")
    while rest:
        rest = rest[log.write(rest) :]
    os.fsync(log.fileno())


def read_runs(path: Path) -> tuple[list[Run], int]:
    """The runs of a log, and how many of its bytes are whole lines. Throws what `read_lines` throws."""
    return read_lines(path, Run)


def read_lines(path: Path, kind: type[Line]) -> tuple[list[Line], int]:
    """The lines of a log, and how many of its bytes are whole lines.

    A last line without its end was cut short by a kill and is not counted. Throws ReapError if an earlier
    line cannot be read: that is damage, not a kill.
    """
    text = path.read_bytes()
    whole = text.rfind(b"\n") + 1
    found = []
    for number, line in enumerate(text[:whole].splitlines(), 1):
        try:
            found.append(decode(line, kind))
        except msgspec.MsgspecError as error:
            raise ReapError(
                f"{path}, line {number}, is damaged: {error}", "remove that line, or begin a new experiment"
            ) from error
    return found, whole


def _read_experiment(path: Path) -> Experiment:
    file = path / _EXPERIMENT
    experiment = read_back(file, Experiment, "begin a new experiment")
    if experiment is None:
        raise ReapError(f"{path} is not an experiment's folder", "give one of `reap compare`", ExitCode.USAGE)
    if experiment.schema > SCHEMA:
        raise ReapError(f"{path} was made by a newer reap ({experiment.reap_version})", "go on with that one")
    return experiment


def _make_room(path: Path, *, force: bool) -> None:
    if not path.exists():
        return
    if not force:
        raise ReapError(
            f"{path} exists already", "give another folder with --output, or --force to replace it"
        )
    # Never a folder that is not ours: a slip of the hand must not remove somebody's work.
    if not (path / _EXPERIMENT).is_file():
        raise ReapError(
            f"{path} is not an experiment's folder, so --force does not replace it",
            "give another folder with --output",
        )
    shutil.rmtree(path)


_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC


def _private(path: str, flags: int) -> int:
    """Files that stay private even where they are copied out of their folder."""
    return os.open(path, flags, 0o600)


def _write_synced(path: Path, data: bytes) -> None:
    with open(path, "xb", opener=_private) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def lock(path: Path, log: FileIO) -> None:
    """Takes the folder for this process until its log is closed. Throws ReapError where another has it."""
    try:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        log.close()
        raise ReapError(f"another reap is running in {path}", "wait until it has ended") from None


def _cannot_make(path: Path, error: OSError) -> ReapError:
    return ReapError(
        f"{path} cannot be written: {error.strerror}",
        f"{elsewhere(error)}; nothing was run yet",
    )


def _cannot_write(folder: Folder, error: OSError) -> ReapError:
    return ReapError(
        f"{folder.path} cannot be written: {error.strerror}",
        f"free some space; completed runs are kept, and `{folder.resume_command}` resumes",
    )
