"""A report without what tells of the machine that it was made on: it is about to be shared."""

import getpass
import os
import re

import msgspec

from reap.answer.records import Answer, Report
from reap.base.records import Kind

LEFT_OUT = "..."
_USER = re.compile(r"/(?:home|Users|export/home)/([^/\s:]+)")
_ABSOLUTE = re.compile(r"(?<![\w.~/])~?(?:/[^/\s:;,\"'()<>\[\]]+)*/(?=[^/\s])")
_RELATIVE = re.compile(r"(?:[\w.+@-]+/)+(?=[\w+@-]+\.\w)")


def redacted(report: Report) -> Report:
    """The report without arguments, folders, source lines and names of users; names of files stay."""
    words = [word for answer in report.answers for word in (*answer.command, *report.made_by) if "/" in word]
    hide = _Hiding(words, _users(msgspec.json.encode(report.answers).decode(), words))
    return msgspec.structs.replace(
        report,
        made_by=[*report.made_by[:2], LEFT_OUT],
        answers=[_answer(each, hide) for each in report.answers],
    )


def _users(text: str, words: list[str]) -> set[str]:
    """Names of users in paths, and of who is at work."""
    try:
        own = {getpass.getuser()}
    except (KeyError, OSError):  # a user without a name
        own = set()
    return ({*_USER.findall(text), *_USER.findall(" ".join(words))} | own) - {"root"}


class _Hiding:
    """What is replaced in text."""

    def __init__(self, words: list[str], users: set[str]) -> None:
        # A path of the command line may have spaces.
        self._paths = sorted((word for word in words if word.rpartition("/")[2]), key=len, reverse=True)
        self._users = re.compile("|".join(rf"\b{re.escape(user)}\b" for user in sorted(users)) or "(?!)")

    def __call__(self, text: str) -> str:
        for path in self._paths:
            text = text.replace(path, os.path.basename(path))  # noqa: PTH119 - it may be no path
        text = _RELATIVE.sub("", _ABSOLUTE.sub("", text))
        return self._users.sub("user", text)


def _answer(answer: Answer, hide: _Hiding) -> Answer:
    bare = _record(msgspec.structs.replace(answer, parts=[]), hide)
    parts = [_record(part, hide) for part in answer.parts if "source" not in part.__struct_fields__]
    return msgspec.structs.replace(bare, parts=parts)


def _record(record: Kind, hide: _Hiding) -> Kind:
    return msgspec.convert(_walk(msgspec.to_builtins(record), hide), type(record))


def _walk(value: object, hide: _Hiding) -> object:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list):
        return [_walk(item, hide) for item in value]
    if isinstance(value, dict):
        return {
            key: _program(item, hide) if key == "command" else _walk(item, hide)
            for key, item in value.items()
        }
    return value


def _program(command: object, hide: _Hiding) -> object:
    """The name of the program alone."""
    if not isinstance(command, list):
        return _walk(command, hide)
    return [hide(str(command[0])), *([LEFT_OUT] if len(command) > 1 else [])] if command else []
