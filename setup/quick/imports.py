"""Which Python file of the lab uses which, read from their syntax trees: nothing is imported."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

PACKAGE = "lab/reap"
TESTS = "lab/test"


@dataclass
class Facts:
    """What one file says."""

    imports: set[str] = field(default_factory=set)
    """Dotted names that it imports, those of `from` with what is imported from there."""

    texts: set[str] = field(default_factory=set)
    """Its string constants, but for long ones."""

    commands: set[tuple[str, ...]] = field(default_factory=set)
    """The strings with which its calls, lists and tuples begin: ("drag", "--json")."""


def facts(source: str) -> Facts:
    """Read one file; what does not parse says nothing."""
    found = Facts()
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.imports.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.imports.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            found.texts.add(node.value)
        elif isinstance(node, ast.Call):
            found.commands.add(leading(node.args))
        elif isinstance(node, ast.List | ast.Tuple):
            found.commands.add(leading(node.elts))
    return found


def leading(nodes: list[ast.expr]) -> tuple[str, ...]:
    """The first string constants of a list, at most two, after what is unpacked into it."""
    words: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(words) < 2:
            words.append(node.value)
        elif words or not isinstance(node, ast.Starred):
            break
    return tuple(words)


def module(path: str) -> str | None:
    """The dotted name of a file: reap.base.units, lab.test.drag.test_drag; None for other files.

    Helpers at the top of the tests have their own names.
    """
    pure = PurePosixPath(path)
    if pure.suffix not in (".py", ".pyi"):
        return None
    if pure.is_relative_to(PACKAGE):
        parts = pure.relative_to("lab").with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    if pure.is_relative_to(TESTS):
        return pure.stem if pure.parent == PurePosixPath(TESTS) else ".".join(pure.with_suffix("").parts)
    return None


def is_test(path: str) -> bool:
    """Whether pytest collects this file."""
    pure = PurePosixPath(path)
    return pure.is_relative_to(TESTS) and pure.match("test_*.py")


def graph(root: Path, files: Iterable[str]) -> dict[str, set[str]]:
    """Of every Python file of the lab those that it uses.

    A test that runs `reap VERB` uses the verb's module, a file with the string "reap.x.y" uses that module,
    and a file that is no Python is used by those that name it.
    """
    paths = [path for path in files if path.startswith((PACKAGE + "/", TESTS + "/"))]
    modules = {name: path for path in paths if (name := module(path))}
    data = [path for path in paths if not path.endswith((".py", ".pyi"))]
    read = {
        path: facts((root / path).read_text(errors="replace")) if (root / path).is_file() else Facts()
        for path in paths
        if path.endswith((".py", ".pyi"))
    }
    used: dict[str, set[str]] = {}
    for path, said in read.items():
        names = [*said.imports, *(text.replace(":", ".") for text in said.texts if text.startswith("reap."))]
        # What is beside a script needs no folder in front of it.
        beside = ".".join(PurePosixPath(path).parent.parts)
        found = {
            target
            for name in names
            if (target := resolve(name, modules) or resolve(f"{beside}.{name}", modules))
        }
        if is_test(path) and any(name.endswith((".reap", ".reap_command")) for name in said.imports):
            found.update(path for words in said.commands for path in verb(words, modules))
        used[path] = found - {path}
    for path in data:
        for reader in readers(path, read):
            used[reader].add(path)
    return used


def resolve(name: str, modules: dict[str, str]) -> str | None:
    """The file of the longest beginning of a dotted name; a package is nobody's use of what is in it."""
    while name:
        if name in modules:
            return modules[name]
        name = name.rpartition(".")[0]
    return None


def verb(words: tuple[str, ...], modules: dict[str, str]) -> Iterator[str]:
    """The files of the command that these words start: reap drag, reap study allocators."""
    for count in (1, 2):
        if len(words) >= count:
            name = "_".join(words[:count])
            dotted = ".".join(words[:count])
            for place in (
                f"reap.cli.{name}",
                f"reap.cli.{dotted}.command",
                f"reap.cli.{dotted}",
                f"reap.{name}.command",
                f"reap.run.{name}",
                f"reap.{dotted}.command",
            ):
                if place in modules:
                    yield modules[place]
                    break


def readers(path: str, read: dict[str, Facts]) -> list[str]:
    """Who uses a file that is no Python: who names it, passes its stem to a call, or names its folder."""
    pure = PurePosixPath(path)
    home = PACKAGE if pure.is_relative_to(PACKAGE) else TESTS
    near = {reader: said for reader, said in read.items() if reader.startswith(home + "/")}

    def naming(name: str) -> list[str]:
        return [
            reader for reader, said in near.items() if any(name in text.split("/") for text in said.texts)
        ]

    calling = [
        reader for reader, said in near.items() if any(words[:1] == (pure.stem,) for words in said.commands)
    ]
    beside = [reader for reader in near if PurePosixPath(reader).parent == pure.parent]
    return naming(pure.name) or calling or naming(pure.parent.name) or beside
