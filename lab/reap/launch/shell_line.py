"""Commands that only a shell understands, with how to run them."""

import re
import shlex
from collections.abc import Sequence

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_OF_BASH = re.compile(
    r"(?:source|pushd|popd|shopt|declare|local|let|\[\[)(?:\s|$)|[<>]\(|\[\[ |<<<|\$'|&>|\|&"
)
"""What dash, which is often sh, does not have."""
WORDS_OF_A_SHELL = frozenset(
    {
        ".",
        ":",
        "alias",
        "bg",
        "break",
        "case",
        "cd",
        "command",
        "continue",
        "declare",
        "do",
        "done",
        "elif",
        "else",
        "esac",
        "eval",
        "exec",
    }
    | {
        "exit",
        "export",
        "fg",
        "fi",
        "for",
        "function",
        "hash",
        "if",
        "jobs",
        "let",
        "local",
        "popd",
        "pushd",
        "read",
    }
    | {
        "readonly",
        "return",
        "set",
        "shift",
        "shopt",
        "source",
        "then",
        "time",
        "times",
        "trap",
        "type",
        "ulimit",
    }
    | {"umask", "unalias", "unset", "until", "wait", "while", "[[", "{", "}", "(", "!"}
)
"""Builtins and reserved words without a program of that name."""
_SYNTAX = re.compile(r"[\s|&;<>()$`*?{}~#'\"\\]")


def advice(command: Sequence[str]) -> str:
    """Return how to run a command that names no program, if a shell would run it; else an empty string.

    A line in one word (`'ls | wc -l'`), a builtin (`cd`), or an assignment before the program. Pure.
    """
    name = command[0]
    if _ASSIGNMENT.fullmatch(name) and len(command) > 1:
        return f"that sets a variable: -- env {shlex.join(command)}"
    if _SYNTAX.search(name):
        line = " ".join(command)
    elif name in WORDS_OF_A_SHELL:
        line = shlex.join(command)
    else:
        return ""
    shell = "bash" if _OF_BASH.search(line) else "sh"
    return f"that is a line for a shell: -- {shell} -c {shlex.quote(line)}"
