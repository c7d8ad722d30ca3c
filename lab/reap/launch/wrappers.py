"""Programs that only start another one, such as `env` or `sudo`, and what they start. Pure functions."""

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from reap.launch import shell_line


class _Wrapper(NamedTuple):
    """Words of a wrapper before the command that it starts."""

    valued: str = ""
    """Options whose value is the next word."""
    positional: int = 0
    """Words that are no options."""


_WRAPPERS = {
    "chroot": _Wrapper(positional=1),
    "chrt": _Wrapper("-T -P -D", positional=1),
    "doas": _Wrapper("-u -C"),
    "dumb-init": _Wrapper("-r"),
    "env": _Wrapper("-u --unset -C --chdir"),
    "exec": _Wrapper("-a"),
    "gosu": _Wrapper(positional=1),
    "ionice": _Wrapper("-c --class -n --classdata"),
    "nice": _Wrapper("-n --adjustment"),
    "nohup": _Wrapper(),
    "numactl": _Wrapper("-i -w -p -m -N -C -l"),
    "runuser": _Wrapper("-u -g -G"),
    "setpriv": _Wrapper(
        "--reuid --regid --ruid --euid --rgid --egid --groups --inh-caps --ambient-caps --bounding-set "
        "--securebits --pdeathsig --selinux-label --apparmor-profile"
    ),
    "setsid": _Wrapper(),
    "stdbuf": _Wrapper("-i -o -e"),
    "sudo": _Wrapper("-u -g -h -p -C -D -r -R -t -T -U"),
    "taskset": _Wrapper(positional=1),
    "timeout": _Wrapper("-k --kill-after -s --signal", positional=1),
    "tini": _Wrapper("-p -e"),
}
_SHELLS = {"ash", "bash", "dash", "sh", "zsh"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_WITH_LINE = re.compile(r"-[a-z]*c")
_BETWEEN = set("();|&")


def name(command: Sequence[str]) -> str:
    """Name of the program that a command runs in the end, without its folder; empty without a command."""
    return Path(inner(command)[0]).name if command else ""


def inner(command: Sequence[str]) -> list[str]:
    """The command that wrappers and shells start; the command itself where they name none."""
    words = list(command)
    while inside := _inside(words):
        words = inside
    return words


def _inside(command: Sequence[str]) -> list[str]:
    """The command behind one wrapper; empty where there is none."""
    first = Path(command[0]).name
    if first in _SHELLS:
        return _of_shell(command)
    if first not in _WRAPPERS:
        return []
    wrapper = _WRAPPERS[first]
    valued, positional = wrapper.valued.split(), wrapper.positional
    words = list(command[1:])
    while words:
        if words[0] == "--":
            return words[1 + positional :]
        if words[0] in valued:
            words = words[2:]
        elif words[0].startswith("-") or _ASSIGNMENT.fullmatch(words[0]):
            words = words[1:]
        elif positional:
            positional -= 1
            words = words[1:]
        else:
            break
    return words


def _of_shell(command: Sequence[str]) -> list[str]:
    """The program that a line for a shell executes in the shell's place, or its only one; else empty."""
    line = next((after for word, after in pairwise(command) if _WITH_LINE.fullmatch(word)), "")
    if "\n" in line.strip():
        return []
    try:
        words = list(shlex.shlex(line, posix=True, punctuation_chars="();|&"))
    except ValueError:
        return []
    parts: list[list[str]] = [[]]
    for word in words:
        if word and set(word) <= _BETWEEN:
            parts.append([])
        elif parts[-1] or not _ASSIGNMENT.fullmatch(word):
            parts[-1].append(word)
    executed = [part for part in parts if len(part) > 1 and part[0] == "exec"]
    others = [part for part in parts if part and part[0] not in shell_line.WORDS_OF_A_SHELL]
    return executed[-1] if executed else others[0] if len(others) == 1 else []
