"""Writing a result so that nothing is lost, and reading it back.

Whole or not at all, private, never over another file; what is damaged is told, with what to do.
"""

import contextlib
import errno
import itertools
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, BinaryIO, TypeVar

import msgspec

from reap.base.errors import ReapError
from reap.base.records import decode
from reap.base.text import printable

Kind = TypeVar("Kind")

STANDARD_OUTPUT = Path("-")
"""As a file of results: the standard output, as other tools have it. A file of that name is `$PWD/-`."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def digest_of(path: Path) -> str:
    """SHA-256 of what the file contains, in hexadecimal. Throws OSError."""
    import hashlib  # which loads OpenSSL

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_safely(path: Path | str, data: bytes, *, force: bool = False) -> Path:
    """Write `data` to `path`, readable by its owner alone (0600), and return the path.

    The bytes go to a neighbour first and take their name when they are on the disk, so that a reader
    never meets half a file and a failure leaves nothing behind. An existing file is replaced only with
    `force`; what is no regular file (a device, a pipe) is written to as it stands. `-` is standard output.
    Raises ReapError where the file exists, is a link, cannot be written or the disk is full.
    """
    target = Path(path)
    try:
        if target == STANDARD_OUTPUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return target
        if target.is_dir():
            raise ReapError(f"{target} is a folder, not a file", "Name a file inside it.")
        refuse_link(target)
        if target.exists() and not target.is_file():
            _write_into(target, data)
            return target
        if not force and os.path.lexists(target):
            raise _exists(target)
        # /dev/stdout is a link, which may lead to a regular file: the link stays.
        _replace(target.resolve() if target.is_symlink() else target, data, force=force)
    except OSError as error:
        raise _cannot_write(target, error) from error
    return target


def refuse_link(path: Path) -> None:
    """Throws ReapError for a link, which leads to a file that nobody named; not for /dev/stdout."""
    if os.path.islink(path) and not _of_system(path):  # noqa: PTH114 - Path's throws where it may not look
        target = printable(str(path.readlink()))
        raise ReapError(
            f"{path} is a link to {target}, and results are not written through links",
            "name the file that it leads to, or remove the link",
        )


@contextlib.contextmanager
def written_safely(path: Path, *, force: bool = False) -> Iterator[IO[bytes]]:
    """A file to write piece by piece, which takes its name when all of it is there. Else as `write_safely`.

    For regular files only, which readers of such formats require.
    """
    try:
        refuse_link(path)
        if not force and os.path.lexists(path):
            raise _exists(path)
        with _replaced(path.resolve() if path.is_symlink() else path, force=force) as stream:
            yield stream
    except OSError as error:
        raise _cannot_write(path, error) from error


def opened_regular(path: Path | str) -> BinaryIO:
    """Open a file that a measured program, or its user, names. Throws OSError for all but a regular file.

    A link of another user is followed to files of that user alone: root must not read others for them.
    """
    from reap import native  # not for `reap --help`

    return open(native.open_regular(os.fsencode(path)), "rb")  # noqa: PTH123 - a descriptor


def cache_folder() -> Path:
    """Folder for what Reap can make again: $XDG_CACHE_HOME/reap, or ~/.cache/reap. It may not exist."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification says that relative ones are to be ignored.
    base = Path(given) if given.startswith("/") else Path(os.environ.get("HOME") or "/") / ".cache"
    return base / "reap"


@contextlib.contextmanager
def folder_for_programs(prefix: str) -> Iterator[Path]:
    """An empty temporary folder for files of a program's processes, whatever user they become.

    Only root's programs become others. Their folder may be written by everybody, but it has a name that only
    they are told, and nobody else can list it.
    """
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        if os.geteuid() != 0:
            yield Path(name)
            return
        Path(name).chmod(0o711)
        folder = Path(tempfile.mkdtemp(dir=name))
        folder.chmod(0o1733)
        yield folder


def beginning(path: Path | str, count: int = 64 << 20) -> bytes:
    """So many first bytes of a regular file; none of one that cannot be read, or of a pipe: it would wait."""
    try:
        with opened_regular(path) as stream:
            return stream.read(count)
    except OSError:
        return b""


def elsewhere(error: OSError) -> str:
    """Return what to do where a folder of results cannot be made or written."""
    if error.errno in _FULL:
        return "free some space, or name another place with -o"
    if error.errno == errno.EROFS:
        return "this file system is read-only: name another place with -o"
    return "name a place where you may write with -o"


RUNS = Path("reap-runs")
"""In the current folder: what results go to for which no file or folder was named."""


def unused(stem: str, suffix: str = "") -> Path:
    """Return a path in `RUNS` with the time of day that does not exist yet, for results without a name.

    Makes `RUNS`, private and ignored by git, if it does not exist. Throws ReapError.
    """
    _make_runs()
    dated = f"{stem}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    return next(
        path
        for number in itertools.count(1)
        if not (path := RUNS / f"{dated}{f'-{number}' if number > 1 else ''}{suffix}").exists()
    )


def _make_runs() -> None:
    try:
        RUNS.mkdir(mode=0o700)
        (RUNS / ".gitignore").write_text("*\n")
    except FileExistsError:
        pass  # also where its owner took the .gitignore away
    except OSError as error:
        raise ReapError(f"{RUNS.absolute()} cannot be created: {error.strerror}", elsewhere(error)) from error
    if not RUNS.is_dir():
        raise ReapError(f"{RUNS.absolute()} is not a folder", "move it away, or name a place with -o")
    if RUNS.lstat().st_uid not in _trusted():
        raise ReapError(f"{RUNS.absolute()} belongs to another user", "name a place of yours with -o")


def _trusted() -> set[int]:
    """Users whose folders results are written into: root, this one, and the one that `sudo` made root."""
    sudo = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    return {0, os.geteuid(), *([int(sudo)] if sudo.isdecimal() else [])}


def native_name(path: Path | str) -> str:
    """The path as compiled code takes it, which is UTF-8 whatever the locale.

    Throws ReapError where the file of that name is another one to Python.
    """
    name = str(path)
    if name.encode(errors="replace") != os.fsencode(name):
        raise ReapError(
            f"the name of {name} is not valid text in this locale",
            "give it a plain name, or try LC_ALL=C.UTF-8",
        )
    return name


def read_back(path: Path, kind: type[Kind], hint: str) -> Kind | None:
    """Reads JSON from a file that Reap wrote; None where there is none.

    Throws ReapError where it cannot be read or is damaged, with `hint` for what to do then.
    """
    try:
        return decode(path.read_bytes(), kind)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ReapError(f"{path} cannot be read: {error.strerror}", "check its permissions") from error
    except msgspec.DecodeError as error:
        raise ReapError(f"{path} is damaged: {error}", hint) from error


def _of_system(path: Path) -> bool:
    """Whether it is as /dev/stdout or /proc/self/fd/1."""
    folder = os.path.realpath(path.parent)
    return folder == "/dev" or folder.startswith("/proc/")


def _write_into(target: Path, data: bytes) -> None:
    """Write to what is no regular file, nor has become one or a link to one."""
    follow = 0 if _of_system(target) else os.O_NOFOLLOW
    with open(os.open(target, os.O_WRONLY | follow), "wb") as stream:  # noqa: PTH123 - a descriptor
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise _exists(target)
        stream.write(data)


def _replace(target: Path, data: bytes, *, force: bool) -> None:
    with _replaced(target, force=force) as stream:
        stream.write(data)


@contextlib.contextmanager
def _replaced(target: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Write a neighbour and give it the target's name."""
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if force:
            part.replace(target)
        else:
            _claim(part, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()


def _claim(part: Path, target: Path) -> None:
    """Give `part` the name `target` unless another has taken it meanwhile: link, unlike rename, refuses."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise _exists(target) from None
    except OSError:  # a file system without hard links
        part.replace(target)


def _exists(target: Path) -> ReapError:
    return ReapError(f"{target} exists already", "Name another file, or add --force to overwrite it.")


def _cannot_write(target: Path, error: OSError) -> ReapError:
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        return ReapError(
            f"{target} could not be written: {reason}; nothing of it was kept",
            "Free some space, or name a file on another disk.",
        )
    if error.errno == errno.ENOENT:
        return ReapError(
            f"{target} could not be written: the folder {target.parent} does not exist",
            "Make the folder first, or name another file.",
        )
    return ReapError(f"{target} could not be written: {reason}", "Name a file where you may write.")
