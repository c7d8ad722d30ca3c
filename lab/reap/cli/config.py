"""Defaults of options: `reap.toml` in the current folder, or the file of --config."""

import errno
import grp
import itertools
import os
import pwd
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from reap.base.errors import ExitCode, ReapError
from reap.base.text import command_line, did_you_mean, printable

NAME = "reap.toml"
_MOST_BYTES = 1 << 20
_COMMAND = re.compile(r"\bCMD")
"""In what an option's help calls its value, where that is run."""
_NOT_OPENED = {errno.EINVAL: "is no regular file", errno.ELOOP: "is another user's link"}
Command = TypeVar("Command", bound=Callable[..., Any] | click.Command)


def option(verbs: Mapping[str, object]) -> Callable[[Command], Command]:
    """`--config`, which gives the verbs below their defaults."""

    def load(context: click.Context, _option: click.Parameter, given: Path | None) -> None:
        context.default_map = _read(given or Path(NAME), verbs, named=given is not None)

    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=load,
        help=f"TOML file with defaults of options, a table for each command (default: {NAME}, if there).",
    )


def defaults(name: str, command: click.Command, table: Mapping[str, Any]) -> dict[str, Any]:
    """A command's table by click's names for its options. Throws ReapError for one that it does not have."""
    known = {
        flag.removeprefix("--"): each
        for each in command.params
        if isinstance(each, click.Option)
        for flag in each.opts
        if flag.startswith("--")
    }
    below = command.commands if isinstance(command, click.Group) else {}
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key in below and isinstance(value, dict):
            found[key] = defaults(f"{name} {key}", below[key], value)
        elif (each := known.get(key)) is not None and each.name:
            found[each.name] = [value] if each.multiple and not isinstance(value, list) else value
        else:
            raise ReapError(
                f"the configuration gives reap {name} the option {printable(key)}, which it does not have",
                f"{did_you_mean(key, known)}write it as in reap {name} --help, without --",
                ExitCode.USAGE,
            )
    return found


def say_commands(name: str, command: click.Command, table: Mapping[str, Any], words: Sequence[str]) -> None:
    """Name the commands that `reap.toml` gives and the command line does not: they are about to be run."""
    written = {word.partition("=")[0] for word in itertools.takewhile("--".__ne__, words)}
    for each in command.params:
        if not isinstance(each, click.Option) or each.name not in table:
            continue
        if not _COMMAND.search(each.metavar or ""):
            continue
        flag = max(each.opts, key=len)
        given = table[each.name]
        for text in (given if isinstance(given, list) else [given]) if flag not in written else []:
            click.echo(f"note: {NAME} gives reap {name} {command_line([flag, str(text)])}", err=True)


def _read(path: Path, verbs: Mapping[str, object], *, named: bool) -> dict[str, Any] | None:
    text = _content(path, named=named)
    if text is None:
        return None
    import tomllib  # not where there is no configuration

    try:
        found = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise _not_understood(path, printable(str(error))) from error
    except RecursionError as error:
        raise _not_understood(path, "it is nested too deeply") from error
    for verb, table in found.items():
        if verb not in verbs or not isinstance(table, dict):
            raise ReapError(
                f"{path} has {printable(verb)}, which is no table of a command's options",
                f"{did_you_mean(verb, verbs)}docs/configuration.md has an example",
                ExitCode.USAGE,
            )
    return found


def _not_understood(path: Path, why: str) -> ReapError:
    return ReapError(
        f"{path} is not understood: {why}", "docs/configuration.md has an example", ExitCode.USAGE
    )


def _content(path: Path, *, named: bool) -> bytes | None:
    """Return what is in the file; None where there is none, or where others may have written it."""
    if not named and not os.path.lexists(path):
        return None
    from reap.base.files import opened_regular  # not for `reap --help`

    try:
        # A pipe that the user names is read, as of <(...).
        with path.open("rb") if named else opened_regular(path) as file:
            why = "" if named else _untrusted(file.fileno(), path.absolute().parent)
            text = b"" if why else file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        if not named:
            return None
        raise ReapError(f"there is no {path}", "name another file with --config", ExitCode.USAGE) from None
    except OSError as error:
        if named or error.errno not in _NOT_OPENED:
            raise ReapError(f"{path} cannot be read: {error.strerror}", "check its permissions") from error
        why, text = _NOT_OPENED[error.errno], b""
    if why:
        click.echo(f"note: {path} {why} and is ignored; --config {path} takes it", err=True)
        return None
    if len(text) > _MOST_BYTES:
        raise _not_understood(path, "it has more than 1 MiB")
    return text


def _untrusted(file: int, folder: Path) -> str:
    """Reason not to take the file unasked, or an empty string: some options are commands to run."""
    own, its = os.fstat(file), folder.stat()
    trusted = (0, os.geteuid())
    if own.st_uid not in trusted:
        return "belongs to another user"
    if its.st_uid not in trusted:
        return "is in another user's folder"
    if _others_write(own):
        return "may be written by other users"
    return "is in a folder that other users may write" if _others_write(its) else ""


def _others_write(status: os.stat_result) -> bool:
    """Whether anybody but root and this user may write it. On some systems each user has a group."""
    if status.st_mode & stat.S_IWOTH:
        return True
    if not status.st_mode & stat.S_IWGRP or status.st_gid == 0:
        return False
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(status.st_gid)
    except KeyError:
        return True
    return (user.pw_gid, user.pw_name) != (group.gr_gid, group.gr_name) or bool(
        {*group.gr_mem} - {user.pw_name}
    )
