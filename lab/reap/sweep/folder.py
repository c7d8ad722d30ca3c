"""The folder of a sweep: what it is, and every block that has ended.

    sweep.json     the cells, with the hashes of their files
    blocks.jsonl   one block a line, with the facts of its machine: appended and synced when it ends

A line is a whole block or none: a kill loses the blocks that were running, and a block that was run twice
(its worker was lost when it had ended) is kept once. The folder is private, as that of an experiment.
"""

import os
import shlex
import shutil
from collections import defaultdict
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.base.files import digest_of, elsewhere, read_back, write_safely
from reap.base.records import Record, decode
from reap.experiment.folder import Open, append_bytes, lock
from reap.experiment.records import Run
from reap.sweep import plan
from reap.sweep.records import Block, Done, Sweep

Line = TypeVar("Line", bound=Record)

_SWEEP = "sweep.json"
_BLOCKS = "blocks.jsonl"


class _Ended(Record):
    """The part of a line that says which block it is."""

    block: Block


class Blocks:
    """A set of blocks: a bit for each round of a cell on a kind of machine."""

    def __init__(self) -> None:
        self._bits: defaultdict[tuple[str, str], bytearray] = defaultdict(bytearray)
        self._count = 0

    def __len__(self) -> int:
        """Number of blocks."""
        return self._count

    def __contains__(self, block: Block) -> bool:
        """Whether the block is in the set."""
        bits, (byte, bit) = self._bits.get((block.cell, block.kind), b""), divmod(block.round, 8)
        return byte < len(bits) and bool(bits[byte] >> bit & 1)

    def add(self, block: Block) -> None:
        """It is one of them from now on."""
        if block in self:
            return
        bits, (byte, bit) = self._bits[block.cell, block.kind], divmod(block.round, 8)
        bits.extend(bytes(max(0, byte + 1 - len(bits))))
        bits[byte] |= 1 << bit
        self._count += 1


class SweepFolder(Open):
    """An open sweep."""

    def __init__(self, path: Path, sweep: Sweep, log: FileIO) -> None:
        super().__init__(path, log)
        self.sweep = sweep
        self.ended = Blocks()
        """Those that are kept."""

    @classmethod
    def create(cls, path: Path, sweep: Sweep, *, force: bool = False) -> Self:
        """Makes the folder. Throws ReapError if it cannot be written, or exists.

        With `force` that of another sweep is replaced.
        """
        path = path.absolute()
        try:
            if force and is_one(path):
                shutil.rmtree(path)
            path.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            raise ReapError(
                f"{path} exists already",
                f"give another with --output, or resume it: {_resume(path)}",
            ) from None
        except OSError as error:
            raise ReapError(f"{path} cannot be made: {error.strerror}", elsewhere(error)) from error
        write_safely(path / _SWEEP, msgspec.json.format(msgspec.json.encode(sweep), indent=2) + b"\n")
        return cls._opened(path, sweep)

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Opens it to go on. Throws ReapError if it is no sweep's, is damaged or in use, or files changed."""
        path = path.absolute()
        sweep = read(path)
        for cell in sweep.cells:
            for name, digest in cell.files.items():
                file = Path(sweep.directory) / name
                if not file.is_file() or digest_of(file) != digest:
                    raise ReapError(
                        f"{path} cannot be resumed: {file} changed since it began",
                        "begin a new sweep; runs of two different programs cannot be compared",
                    )
        return cls._opened(path, sweep)

    @classmethod
    def _opened(cls, path: Path, sweep: Sweep) -> Self:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            log = os.fdopen(os.open(path / _BLOCKS, flags, 0o600), "r+b", buffering=0)
        except OSError as error:
            raise ReapError(f"{path / _BLOCKS} cannot be opened: {error.strerror}") from error
        lock(path, log)
        folder = cls(path, sweep, log)
        try:
            whole = 0
            for line in _lines(path):
                whole += len(line)
                folder.ended.add(_decoded(path, line, _Ended).block)
            log.truncate(whole)
        except BaseException:
            log.close()
            raise
        return folder

    @property
    def resume_command(self) -> str:
        """Command that resumes the sweep."""
        return _resume(self.path)

    def append(self, block: Block, line: bytes) -> bool:
        """Keeps a `Done` of that block, as JSON, unless it is there already; then False.

        When this returns it survives a kill and a power cut. Throws ReapError.
        """
        if block in self.ended:
            return False
        try:
            append_bytes(self._log, line)
        except OSError as error:
            raise ReapError(
                f"{self.path} cannot be written: {error.strerror}",
                f"free some space; completed blocks are kept, and `{self.resume_command}` resumes",
            ) from error
        self.ended.add(block)
        return True


def is_one(path: Path) -> bool:
    """Whether it is the folder of a sweep."""
    return (path / _SWEEP).is_file()


def read(path: Path) -> Sweep:
    """Reads a sweep's folder. Throws ReapError."""
    sweep = read_back(path / _SWEEP, Sweep, "begin a new sweep")
    if sweep is None:
        raise ReapError(
            f"{path} is not a sweep's folder",
            "give the folder of a comparison with --plan or --on",
            ExitCode.USAGE,
        )
    if sweep.schema > plan.SCHEMA:
        raise ReapError(f"{path} was made by a newer reap ({sweep.reap_version})", "go on with that one")
    return sweep


def blocks(path: Path) -> Iterator[Done]:
    """The blocks that have ended, one at a time: a sweep need not fit into memory. Throws ReapError."""
    for line in _lines(path):
        yield _decoded(path, line, Done)


def ended_rounds(path: Path) -> Iterator[tuple[str, int, list[Run]]]:
    """Each round that has ended: its cell's name, its number, its runs. Throws ReapError."""
    for done in blocks(path):
        yield done.block.cell, done.block.round, done.runs


def _lines(path: Path) -> Iterator[bytes]:
    """Whole lines: a last one that a kill has torn is passed over."""
    with (path / _BLOCKS).open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line


def _decoded(path: Path, line: bytes, kind: type[Line]) -> Line:
    try:
        return decode(line, kind)
    except msgspec.DecodeError as error:
        raise ReapError(
            f"a line of {path / _BLOCKS} is damaged: {error}",
            "remove that line, and resume: its block is rerun",
        ) from error


def _resume(path: Path) -> str:
    return shlex.join(["reap", "compare", "--resume", str(path)])
