"""A folder that records on machines without Reap and Python: what `reap record --kit` makes."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from reap.base.errors import ExitCode, ReapError
from reap.commandline import reporting
from reap.launch import loader, native_files

_OLDEST = 17
"""Minor version of the oldest glibc 2 that the recorder of a wheel runs with."""


def step(folder: Path, *, force: bool) -> int:
    """Makes the folder, and prints how it is used. Throws ReapError."""
    make(folder, force=force)
    reporting.say_written("the kit", folder)
    needed = loader.needed_release(native_files.preload("record"))
    if needed > _OLDEST:
        click.echo(
            f"note: programs there need glibc 2.{needed} or later; with a kit from reap's wheel 2.{_OLDEST}",
            err=True,
        )
    reporting.say_command("copy it, then run there", [f"{folder}/reap-record", "-o", "x.reap", "--", "CMD"])
    return ExitCode.OK


def make(folder: Path, *, force: bool) -> None:
    """Makes the folder; with `force` replaces the kit that is there. An empty folder may be there.

    It has the program to run, `reap-record`, and beside it what that needs. All may read it, as programs of
    any user load the recorder. Throws ReapError.
    """
    if os.path.islink(folder) or (folder.exists() and not folder.is_dir()):  # noqa: PTH114 - Path's throws
        raise ReapError(f"{folder} is no folder", "give the kit another name")
    parts = native_files.kit()
    try:
        if not force and folder.exists() and any(folder.iterdir()):
            raise ReapError(
                f"{folder} exists already", "give another name, or --force to replace the kit in it"
            )
        with _beside(folder) as made:
            for part in parts:
                shutil.copyfile(part, made / part.name)
                (made / part.name).chmod(0o644 if part.suffix else 0o755)
            if folder.exists():
                for part in parts:
                    (made / part.name).replace(folder / part.name)
            else:
                made.chmod(0o755)
                made.rename(folder)
    except OSError as error:
        raise ReapError(
            f"the kit {folder} cannot be written: {error.strerror}", "name a folder elsewhere"
        ) from error


@contextlib.contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A new folder in the same one."""
    made = Path(tempfile.mkdtemp(dir=folder.absolute().parent, prefix=".reap-kit-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
