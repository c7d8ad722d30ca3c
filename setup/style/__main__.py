"""Checks words, docstrings and commit subjects: the terms of words.toml, and how sentences begin.

Prints FILE:LINE, the word found and what to write for each fault; exits with 1 if there is one.
"""

import ast
import fnmatch
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SUBJECT = 72
"""The most characters that the subject of a commit has."""
LAST = 20
"""Commits whose subject has to be imperative."""
BARE = re.compile(r"(Those|The same|That|What|Whatever|Whether|How|Where|When|Why|Who|Whose|Which)\b")
"""Openings of a clause that names no thing; *Whether* is right for a function that returns a bool."""
DECLARED = re.compile(r"[a-z]+(?:ed|ing|[^s]s)\b")
"""A first word that is no imperative, but for these."""
IMPERATIVES = {
    "embed",
    "exceed",
    "feed",
    "focus",
    "need",
    "proceed",
    "seed",
    "speed",
    "spread",
    "succeed",
    "bring",
}
BREAK = r"(?:[ \t]+|[ \t]*\n[ \t]*(?:(?:#|///?|\*|>)[ \t]*)?)"
"""White space between two words of a sentence, which may go on in the next line of a comment."""


@dataclass(frozen=True)
class Word:
    """A term that the project does not use."""

    pattern: re.Pattern[str]
    write: str
    pending: bool
    pending_in: tuple[str, ...]

    def is_pending(self, name: str) -> bool:
        """Whether this file may still have it."""
        return self.pending or any(fnmatch.fnmatch(name, one) for one in self.pending_in)


def git(root: Path, *arguments: str) -> str:
    """What git prints; nothing where it fails."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def read_words(path: Path) -> tuple[list[Word], list[str], list[str]]:
    """The words, and the patterns of files that are exempt: from all, and from the check of docstrings."""
    data = tomllib.loads(path.read_text())
    words = [
        Word(
            re.compile(re.sub(r" (?!\?)", lambda _: BREAK, word["pattern"]), re.IGNORECASE),
            word["write"],
            word.get("pending", False),
            tuple(word.get("pending_in", ())),
        )
        for word in data["word"]
    ]
    return words, data["exempt"], data.get("bare_docstrings_in", [])


def texts(root: Path, exempt: list[str]) -> Iterator[tuple[str, str]]:
    """Name and text of each tracked file that is checked; symbolic links and binary files are not."""
    for name in git(root, "ls-files", "-z").split("\0"):
        path = root / name
        if not name or any(fnmatch.fnmatch(name, one) for one in exempt):
            continue
        if path.is_file() and not path.is_symlink() and b"\0" not in (content := path.read_bytes()):
            yield name, content.decode(errors="replace")


def long_subjects(root: Path) -> list[str]:
    """A fault for each commit since the branch left main; none where there is no main."""
    for main in ("origin/main", "main"):
        if base := git(root, "merge-base", "HEAD", main).strip():
            break
    else:
        return []
    lines = git(root, "log", "--no-merges", "--format=%h %s", f"{base}..HEAD").splitlines()
    return [
        f"commit {commit}: the subject has {len(subject)} characters; write at most {SUBJECT}"
        for commit, _, subject in (line.partition(" ") for line in lines)
        if len(subject) > SUBJECT
    ]


def declared_subjects(root: Path) -> list[str]:
    """A fault for each of the last commits whose subject does not begin with an imperative after its part."""
    lines = git(root, "log", "--no-merges", f"-{LAST}", "--format=%h %s").splitlines()
    faults = []
    for commit, _, subject in (line.partition(" ") for line in lines):
        first = subject.rpartition(": ")[2].partition(" ")[0]
        if DECLARED.fullmatch(first) and first not in IMPERATIVES:
            faults.append(
                f"commit {commit}: '{first}' is no imperative; write what the commit does: add, fix, say"
            )
    return faults


def bare_docstrings(name: str, text: str) -> list[str]:
    """A fault for each docstring of a module, class or function that begins with a bare clause."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a test's own
        return []
    faults = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            continue
        opening = BARE.match(ast.get_docstring(node) or "")
        returned = getattr(node, "returns", None)
        if opening is None or (opening[0] == "Whether" and returned and ast.unparse(returned) == "bool"):
            continue
        faults.append(f"{name}:{node.body[0].lineno}: '{opening[0]}': begin with a verb or a noun")
    return faults


def check(root: Path, path: Path) -> int:
    """Print every fault, and how many pending ones remain; the exit status."""
    words, exempt, bare = read_words(path)
    faults = [*long_subjects(root), *declared_subjects(root)]
    pending: dict[str, int] = {}
    for name, text in texts(root, exempt):
        if name.endswith(".py") and not any(fnmatch.fnmatch(name, one) for one in bare):
            faults += bare_docstrings(name, text)
        for word in words:
            for match in word.pattern.finditer(text):
                if word.is_pending(name):
                    pending[word.write] = pending.get(word.write, 0) + 1
                    continue
                line = text.count("\n", 0, match.start()) + 1
                faults.append(f"{name}:{line}: '{' '.join(match[0].split())}': write {word.write}")
    for fault in faults:
        print(fault)
    for write, count in pending.items():
        print(f"pending in {path.name}: {count} occurrences to replace by '{write}'")
    return 1 if faults else 0


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.exit(check(here.parents[1], here / "words.toml"))
