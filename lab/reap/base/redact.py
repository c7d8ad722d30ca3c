"""Results without what tells of the machine and of the people who use it: they are about to be shared.

The one rule of `--redact`. Whatever writes a file passes what it writes through `shared`.
"""

import contextvars
import dataclasses
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec

Kind = TypeVar("Kind")

LEFT_OUT = "..."
_COMMANDS = {"command", "argv", "made_by"}
"""Fields that hold a command line, as words or as text."""
_PATHS = {"file", "module", "path", "provider", "executable"}
"""Fields that hold a path and nothing else: it may have spaces."""
_USER = re.compile(r"/(?:home|Users|export/home)/([^/\s:]+)")
_HOME = re.compile(r"/(?:home|Users|export/home)/[^/\s:]+(?=/)")
_ABSOLUTE = re.compile(r"(?<![\w.~/])~?(?:/[^/\s:;,\"'()<>\[\]]+)*/(?=[^/\s])")
_RELATIVE = re.compile(r"(?:[\w.+@-]+/)+(?=[\w+@-]+\.\w)")
_PLAIN = re.compile(r"-{0,2}[a-z][a-z_-]*|[\d.,:]+ ?[a-zA-Z%]{0,3}|.{0,3}")
"""Arguments that tell nothing, and that text may have for another reason: words, options, numbers."""
_MARKUP = re.compile(r"(>)([^<>]+)(?=<)|(\b(?:aria-label|title)=\")([^\"]*)")

_command: contextvars.ContextVar[Sequence[str] | None] = contextvars.ContextVar("redact", default=None)


def begin(command: Sequence[str]) -> None:
    """From here on what is written is to be shared. `command` is the command line of this process."""
    _command.set([*command])


def end() -> None:
    """Ends the hiding: text that is written from here on stays as it is."""
    _command.set(None)


def asked() -> bool:
    """Whether `--redact` was given."""
    return _command.get() is not None


def shared(value: Kind) -> Kind:
    """The value as it may be written: itself, unless `--redact` was given."""
    command = _command.get()
    return value if command is None else redacted(value, command)


def redacted(value: Kind, command: Sequence[str] = ()) -> Kind:
    """Records, lists and text without arguments, folders and names of users; names of files stay.

    Text in markup is redacted, too. `command` is a command line whose words may be in it.
    """
    commands: list[list[str]] = [[*command], _measured(command)]
    users: set[str] = set()

    def gather(text: str) -> str:
        users.update(_USER.findall(text))
        return text

    def keep(words: Any) -> Any:  # noqa: ANN401 - words or text
        if isinstance(words, list | tuple):
            commands.append([str(word) for word in words])
            gather(" ".join(commands[-1]))
        else:
            gather(str(words))
        return words

    _walk(value, gather, keep)
    gather(" ".join(command))
    hide = _Hiding([each for each in commands if each], (users | _who()) - {"root"})
    found: Kind = _walk(value, hide, hide.program)
    return found


def _measured(command: Sequence[str]) -> list[str]:
    """The program on a command line of ours."""
    return [*command][[*command].index("--") + 1 :] if "--" in command else []


def _who() -> set[str]:
    """The user at work."""
    import getpass  # not where nothing is redacted

    try:
        return {getpass.getuser()}
    except (KeyError, OSError):  # a user without a name
        return set()


class _Hiding:
    """Words that are replaced in text."""

    def __init__(self, commands: Sequence[Sequence[str]], users: set[str]) -> None:
        words = {word for command in commands for word in command}
        lines = [(shlex.join(command), self._line(command)) for command in commands if len(command) > 1]
        # A path of the command line may have spaces.
        paths = [(word, os.path.basename(word)) for word in words if "/" in word and "=" not in word]  # noqa: PTH119 - it may be no path
        known = {old: new for old, new in [*lines, *paths] if new}
        # Those of a command of ours are options, and names of files.
        arguments = {word for command in commands if not _ours(command) for word in command[1:]}
        known |= {word: LEFT_OUT for word in arguments - {*known} if not _PLAIN.fullmatch(word)}
        self._known = known
        self._words = _any_of(known)
        self._users = _any_of(users)

    def __call__(self, text: str) -> str:
        text = self._words.sub(lambda found: self._known[found[0]], text)
        text = _RELATIVE.sub("", _ABSOLUTE.sub("", _HOME.sub("", text)))
        return self._users.sub("user", text)

    def program(self, command: Any) -> Any:  # noqa: ANN401 - words or text
        """The name of the program alone, of our own the verb, too."""
        if isinstance(command, str):
            try:
                words = shlex.split(command)
            except ValueError:  # cut short
                words = command.split()
            return shlex.join(self.program(words)) if words else command
        if not isinstance(command, list | tuple) or not command:
            return command
        kept = _ours_alone(command) if _ours(command) else command[:1]
        left = [LEFT_OUT] if len(command) > len(kept) else []
        return type(command)([*(self(str(word)) for word in kept), *left])

    @staticmethod
    def _line(command: Sequence[str]) -> str:
        return f"{os.path.basename(command[0])} {LEFT_OUT}"  # noqa: PTH119 - it may be no path


def _ours(command: Sequence[Any]) -> bool:
    return Path(str(command[0])).name == "reap"


def _ours_alone(command: Sequence[Any]) -> list[Any]:
    """The name and the verb, without the options between them."""
    words = [word for before, word in pairwise(command) if before != "--config"]
    return [command[0], *[word for word in words if not str(word).startswith("-")][:1]]


def _any_of(words: Mapping[str, str] | set[str]) -> re.Pattern[str]:
    """Finds them as whole words, the longest first; never matches where there are none."""
    ordered = sorted((word for word in words if word), key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in ordered) or "(?!)")


def _walk(value: Any, text: Callable[[str], str], command: Callable[[Any], Any], key: str = "") -> Any:  # noqa: ANN401 - a case for each kind
    """The value with each text and each command replaced."""
    if key in _COMMANDS:
        return command(value)
    if hasattr(value, "__html__"):
        return type(value)(_MARKUP.sub(lambda found: _in_markup(found, text), str(value)))
    if type(value) is str:
        found = text(value)
        return (found.rpartition("/")[2] or found) if key in _PATHS else found
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
        fields = {name: _walk(getattr(value, name), text, command, name) for name in names}
        return msgspec.structs.replace(value, **fields)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in dataclasses.fields(value) if field.init)
        fields = {name: _walk(getattr(value, name), text, command, name) for name in names}
        return dataclasses.replace(value, **fields)
    if isinstance(value, Path):
        return Path(text(str(value)))
    if isinstance(value, Mapping):
        return {
            text(name) if type(name) is str else name: _walk(item, text, command, str(name))
            for name, item in value.items()
        }
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_walk(item, text, command) for item in value))
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(_walk(item, text, command) for item in value)
    return value


def _in_markup(found: re.Match[str], text: Callable[[str], str]) -> str:
    import html  # which has a table of all entities

    begin, words = (found[1], found[2]) if found[1] else (found[3], found[4])
    return begin + html.escape(text(html.unescape(words)))
