"""Which tests belong to what changed, nearest first.

A test's rank is its distance from the change: 0 is a test that changed itself, EXACT one named after the
changed file, PREFIX one named after a part of its name, TABLE one that TESTS_OF names, and n one that
reaches it through n imports or #include lines.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import cmake
import imports
import includes

EXACT, PREFIX, TABLE, HOUSE = 0.25, 0.5, 0.75, 1.5
FARTHEST = 2
"""A test that is farther is not chosen, unless none is nearer: most tests reach most modules in the end."""

TESTS_OF = {
    "lab/preload/common": ["recording", "launch_marks"],
    "lab/preload/record": ["recording", "launch_marks"],
    "lab/preload/fragment": ["fragment"],
    "lab/preload/resident": ["rss"],
    "lab/preload/requests": ["launch_marks", "compare_requests"],
    "lab/preload/probe": ["launch_program", "allocators"],
    "lab/drag/sample": ["drag_sample"],
    "lab/drag/recompiled": ["drag_recompiled"],
    "lab/drag": ["drag"],
    "lab/spawn": ["spawn", "launch_program"],
    "lab/native": ["recording_numbers", "fragment_heap_map"],
    "lab/format/reap_drag.h": ["drag"],
    "lab/format/reap_drag_samples.h": ["drag_sample"],
    "lab/format/reap_litter.h": ["fragment"],
    "lab/format/reap_requests.h": ["launch_marks", "compare_requests"],
    "lab/format/reap_resident.h": ["rss"],
    "lab/format": ["recording"],
    "library/include/reap/mark.h": ["launch_marks"],
    "library/include/reap/interpose": ["allocators"],
    "library/src/interpose": ["allocators"],
    "setup": ["setup_bootstrap"],
    "setup/site": ["site"],
    ".ci": ["setup_bootstrap"],
    "Makefile": ["setup_bootstrap"],
    "pyproject.toml": ["house"],
    "docs": ["docs_pages"],
    "docs/patterns": ["docs_patterns"],
    "README.md": ["docs_pages"],
    "CHANGELOG.md": [],
    "CONTRIBUTING.md": [],
    "workloads": ["workloads_cards"],
}
"""Python tests of what no Python file imports, by the first words of their names. The longest path counts."""


@dataclass(frozen=True)
class Choice:
    """A test that belongs to the change."""

    name: str
    rank: float
    reason: str
    cause: str = ""
    """The changed file; none for a test that is chosen whatever changed."""


def python_tests(root: Path, changed: list[str], files: list[str]) -> list[Choice]:
    """The test files of the lab that belong to each changed file."""
    inside = any(path.startswith((imports.PACKAGE, imports.TESTS)) for path in changed)
    users = inverse(imports.graph(root, sorted({*files, *changed}))) if inside else {}
    existing = [path for path in files if imports.is_test(path)]
    found = []
    for path in changed:
        near = reached(users, path)
        found.extend(
            close(
                [
                    Choice(test, near[test], because(near[test], path), path)
                    for test in existing
                    if test in near
                ]
            )
        )
        if path.startswith(("lab/reap/", "lab/native/", "setup/")):
            found.extend(named_after(path, existing))
        found.extend(
            Choice(test, TABLE + place / 100, f"tests {path}", path)
            for place, first in enumerate(listed(path))
            for test in existing
            if begins(words_of(test), split(first))
        )
        if path.startswith("lab/") and not path.startswith(imports.TESTS):
            found.extend(
                Choice(test, HOUSE, "rules of the layout")
                for test in existing
                if test.endswith("/test_house.py")
            )
    return found


def cpp_programs(
    root: Path, changed: list[str], files: list[str], programs: list[cmake.Program]
) -> list[Choice]:
    """The C++ programs that belong to each changed file."""
    users = inverse(includes.graph(root, sorted({*files, *changed})))
    found = []
    for path in changed:
        near = reached(users, path)
        stem = PurePosixPath(path).stem
        choices = []
        for program in programs:
            distances = [near[source] for source in program.sources if source in near]
            distances += [near[source] + 1 for source in program.objects if source in near]
            # A library that all programs link would make all of them near to whatever it includes.
            distances += [1 for source in program.linked if source == path]
            if distances:
                why = because(min(distances), path) if min(distances) else f"compiles {path}"
                choices.append(Choice(program.name, min(distances), why, path))
            if any(PurePosixPath(source).stem == f"{stem}_test" for source in program.sources):
                choices.append(Choice(program.name, EXACT, f"named after {path}", path))
            if path == f"{program.folder}/CMakeLists.txt":
                choices.append(Choice(program.name, 1, f"defined in {path}", path))
            if path.endswith(".md") and program.name.startswith(f"library-docs-{stem}-"):
                choices.append(Choice(program.name, 0, f"example in {path}", path))
        found.extend(close(choices))
    # Checked mode after the plain one of the same test.
    return [replace(each, rank=each.rank + 0.1) if each.name.endswith("-checked") else each for each in found]


def close(choices: list[Choice]) -> list[Choice]:
    """Those that are near, or as near as any."""
    limit = max(FARTHEST, min((choice.rank for choice in choices), default=0))
    return [choice for choice in choices if choice.rank <= limit]


def inverse(used: dict[str, set[str]]) -> dict[str, set[str]]:
    """Of every file those that use it."""
    users = defaultdict(set)
    for path, others in used.items():
        for other in others:
            users[other].add(path)
    return users


def reached(users: dict[str, set[str]], changed: str) -> dict[str, int]:
    """All files that reach a changed one, with the number of steps that it takes."""
    near = {changed: 0}
    waiting = [changed]
    for path in waiting:
        for user in users.get(path, set()) - near.keys():
            near[user] = near[path] + 1
            waiting.append(user)
    return near


def because(distance: int, path: str) -> str:
    """Why a test at this distance of a changed file was chosen."""
    if distance == 0:
        return "changed"
    return f"uses {path}" if distance == 1 else f"uses {path} through {distance - 1} more"


def named_after(path: str, tests: list[str]) -> list[Choice]:
    """Tests named as a file or, where there is none, as the longest part of its name, or longer than it."""
    pure = PurePosixPath(path)
    folders = [part for part in pure.parts[:-1] if part not in ("lab", "reap")]
    stem = [] if pure.stem in ("__init__", "__main__") else split(pure.stem)
    names = [name for name in (stem, split("_".join([*folders, *stem]))) if name]
    words = {test: words_of(test) for test in tests}
    # What is behind Python is used from any folder.
    native = path.startswith("lab/native/")
    if exact := [
        test
        for test in tests
        if words[test] in names or (native and PurePosixPath(test).stem == f"test_{pure.stem}")
    ]:
        return [Choice(test, EXACT, f"named after {path}", path) for test in exact]
    parts = [test for test in tests if any(begins(name, words[test]) for name in names)]
    longest = max((len(words[test]) for test in parts), default=0)
    longer = [test for test in tests if any(begins(words[test], name) for name in names)]
    return [
        Choice(test, PREFIX, f"named after {path}", path)
        for test in [*(test for test in parts if len(words[test]) == longest), *longer]
    ]


def listed(path: str) -> list[str]:
    """The entries of the table for a path."""
    pure = PurePosixPath(path)
    return next((TESTS_OF[str(part)] for part in (pure, *pure.parents) if str(part) in TESTS_OF), [])


def testable(path: str) -> bool:
    """Whether a test would be expected for a file."""
    return (
        bool(listed(path))
        if path in TESTS_OF
        else not path.endswith((".md", ".txt", ".lock", ".png", ".svg"))
    )


def words_of(test: str) -> list[str]:
    """The words of a test's name: drag/test_sample.py is of drag, sample; drag/test_drag.py of drag."""
    pure = PurePosixPath(test).relative_to(imports.TESTS).with_suffix("")
    name = pure.name.removeprefix("test_")
    return split("_".join(pure.parts[:-1] if name == pure.parent.name else [*pure.parts[:-1], name]))


def split(name: str) -> list[str]:
    """The words of a file's name."""
    return name.replace("-", "_").split("_")


def begins(words: list[str], first: list[str]) -> bool:
    """Whether a list begins with another."""
    return words[: len(first)] == first


def nearest(choices: Iterable[Choice]) -> list[Choice]:
    """Each test once, by its least rank, in the order of ranks."""
    best: dict[str, Choice] = {}
    for choice in choices:
        if choice.name not in best or choice.rank < best[choice.name].rank:
            best[choice.name] = choice
    return sorted(best.values(), key=lambda choice: (choice.rank, choice.name))
