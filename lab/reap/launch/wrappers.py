"""Programs that only start another one, such as `env` or `sudo`, and what they start. Pure functions."""

import re
import shlex
from collections.abc import Sequence
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
    "chroot": _Wrapper("--groups --userspec", positional=1),
    "chrt": _Wrapper("-T --sched-runtime -P --sched-period -D --sched-deadline", positional=1),
    "doas": _Wrapper("-a -u -C"),
    "dumb-init": _Wrapper("-r --rewrite"),
    "env": _Wrapper("-a --argv0 -u --unset -C --chdir"),
    "exec": _Wrapper("-a"),
    "gosu": _Wrapper(positional=1),
    "ionice": _Wrapper("-c --class -n --classdata"),
    "nice": _Wrapper("-n --adjustment"),
    "nohup": _Wrapper(),
    "numactl": _Wrapper(
        "-i --interleave -w --weighted-interleave -p --preferred -P --preferred-many -m --membind "
        "-c --cpubind -N --cpunodebind -C --physcpubind"
    ),
    "runuser": _Wrapper("-u --user -g --group -G --supp-group -w --whitelist-environment"),
    "setpriv": _Wrapper(
        "--reuid --regid --ruid --euid --rgid --egid --groups --inh-caps --ambient-caps --bounding-set "
        "--securebits --pdeathsig --selinux-label --apparmor-profile"
    ),
    "setsid": _Wrapper(),
    "stdbuf": _Wrapper("-i --input -o --output -e --error"),
    "sudo": _Wrapper(
        "-u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -r --role -R --chroot "
        "-t --type -T --command-timeout -U --other-user"
    ),
    "taskset": _Wrapper(positional=1),
    "timeout": _Wrapper("-k --kill-after -s --signal", positional=1),
    "tini": _Wrapper("-p -e"),
}
_SHELLS = {"ash", "bash", "dash", "sh", "zsh"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_WITH_LINE = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_VALUED_OF_SHELL = re.compile(r"[-+][A-Za-z]*[oO]|--rcfile|--init-file")
_QUOTED = r"""'[^']*'|"(?:\\.|[^"\\])*"|\\."""
_REDIRECTION = re.compile(
    rf"({_QUOTED})|(?:(?<![^\s;|&()])\d+)?(?:&>>?|>[>&|]?|<[<>&]*)\s*(?:{_QUOTED}|[^\s;|&()<>])*"
)
"""Words in quotes, which are the group, or a redirection with its file."""
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
    options = True
    while words:
        if options and words[0] in valued:
            words = words[2:]
        elif options and words[0].startswith("-"):
            options = words[0] != "--"
            words = words[1:]
        elif _ASSIGNMENT.fullmatch(words[0]):
            words = words[1:]
        elif positional:
            positional -= 1
            words = words[1:]
        else:
            break
    return words


def _of_shell(command: Sequence[str]) -> list[str]:
    """The program that a line for a shell executes in the shell's place, or its only one; else empty."""
    line = _line(command)
    if "\n" in line.strip():
        return []
    line = _REDIRECTION.sub(lambda found: found[1] or " ", line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();|&")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
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


def _line(command: Sequence[str]) -> str:
    """The line that a shell is given by its option -c; empty where it reads a file."""
    words = list(command[1:])
    given = False
    while words and words[0].startswith(("-", "+")):
        word, *words = words
        if word in ("-", "--"):
            break
        given = given or bool(_WITH_LINE.fullmatch(word))
        if _VALUED_OF_SHELL.fullmatch(word):
            words = words[1:]
    return words[0] if given and words else ""
