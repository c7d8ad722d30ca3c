"""Defaults of options: `reap.toml` in the current folder, or the file of --config."""

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from reap.base.errors import ExitCode, ReapError
from reap.base.text import did_you_mean, printable

NAME = "reap.toml"
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


def _read(path: Path, verbs: Mapping[str, object], *, named: bool) -> dict[str, Any] | None:
    try:
        with path.open("rb") as file:
            owner = os.fstat(file.fileno()).st_uid
            found = tomllib.load(file)
    except FileNotFoundError:
        if not named:
            return None
        raise ReapError(f"there is no {path}", "name another file with --config", ExitCode.USAGE) from None
    except OSError as error:
        raise ReapError(f"{path} cannot be read: {error.strerror}", "check its permissions") from error
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise ReapError(
            f"{path} is not understood: {error}", "docs/configuration.md has an example", ExitCode.USAGE
        ) from error
    # Some options are commands to run: a file that another user left in a shared folder must not give them.
    if not named and owner not in (0, os.geteuid()):
        click.echo(f"note: {path} belongs to another user and is ignored; --config {path} takes it", err=True)
        return None
    for verb, table in found.items():
        if verb not in verbs or not isinstance(table, dict):
            raise ReapError(
                f"{path} has {printable(verb)}, which is no table of a command's options",
                f"{did_you_mean(verb, verbs)}docs/configuration.md has an example",
                ExitCode.USAGE,
            )
    return found
