"""Which C and C++ file includes which, by the names in #include lines: no compiler is asked."""

import re
from collections import defaultdict
from collections.abc import Iterable
from os.path import commonpath, normpath
from pathlib import Path, PurePosixPath

SUFFIXES = (".h", ".hpp", ".c", ".cpp", ".cppm")


def graph(root: Path, files: Iterable[str]) -> dict[str, set[str]]:
    """Of every C and C++ file those of the checkout that it includes."""
    paths = [path for path in files if path.endswith(SUFFIXES)]
    named = defaultdict(list)
    for path in paths:
        named[PurePosixPath(path).name].append(path)
    used = {}
    for path in paths:
        text = (root / path).read_text(errors="replace") if (root / path).is_file() else ""
        names = re.findall(r'^\s*#\s*include\s*[<"]([^">]+)[">]', text, re.MULTILINE)
        used[path] = {found for name in names if (found := resolve(name, path, named))} - {path}
    return used


def resolve(name: str, includer: str, named: dict[str, list[str]]) -> str | None:
    """The file that a name means: beside the includer, else the nearest one whose path ends so."""
    beside = normpath(PurePosixPath(includer).parent / name)
    known = named.get(PurePosixPath(name).name, [])
    if beside in known:
        return beside
    ends = [path for path in known if f"/{path}".endswith(f"/{normpath(name)}")]
    return max(ends, key=lambda path: len(commonpath([path, includer])), default=None)
