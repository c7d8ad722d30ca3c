"""Hints from the names of a program's functions: no causes, and no remedy follows from them. Pure."""

import re
from collections import Counter
from collections.abc import Iterable

from reap.evidence.analyse import owners
from reap.evidence.analyse.owners import Sample
from reap.evidence.records import Hint

_PARSES = frozenset(
    {"parse", "parses", "parser", "parsing", "lex", "lexer", "scanner", "scanf", "sscanf", "token", "tokens"}
    | {"tokenize", "tokenizer", "deserialize", "deserializer", "unmarshal", "unescape", "unescaped"}
    | {"strtod", "strtol", "strtoul", "strtoll", "strtof", "atoi", "atof", "atol", "fromstring"}
)
"""Words of functions that read text, or a number from text."""
_MOST_FUNCTIONS = 5
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NESTED = re.compile(r"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
"""Arguments of templates and functions, tags of builds, lambdas."""
_LONGEST_NAME = 4096
"""Characters of a name that are looked at; a template's name may have a million."""


def hints(rows: Iterable[Sample]) -> list[Hint]:
    """Hints from the names of sampled functions of the program's own work; empty where none gives a hint.

    Whole words of a function's own name count, never those of its class, namespace, arguments or library.
    """
    found: Counter[str] = Counter()
    for row in rows:
        if owners.owner(row) == "other" and not _PARSES.isdisjoint(words(row.function)):
            found[own_name(row.function)] += row.count
    if not found:
        return []
    most = [function for function, _ in found.most_common(_MOST_FUNCTIONS)]
    return [Hint(what="parsing", samples=sum(found.values()), functions=most)]


def words(function: str) -> list[str]:
    """The words of a demangled function's own name, in lower case; none of a destructor."""
    own = own_name(function)
    return [] if own.startswith("~") else [word.lower() for word in _WORD.findall(own)]


def own_name(function: str) -> str:
    """A demangled function's name without its class, namespace, types and arguments."""
    name = function[:_LONGEST_NAME]
    while (shorter := _NESTED.sub("", name)) != name:
        name = shorter
    # The innermost name, without a type before it or qualifiers behind: `int ns::Reader::parse_value const`.
    name = next((part for part in reversed(name.split()) if part not in {"const", "volatile", "&", "&&"}), "")
    return re.split(r"::|\.", name)[-1]
