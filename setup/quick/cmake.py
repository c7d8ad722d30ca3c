"""The C++ tests of a build folder, as CMake's file API and the files of CTest describe them."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PRESET = "release"
ADD_TEST = r"^add_test\((?:\[=*\[)?(.+?)(?:\]=*\])? (\".*?\")\)$"


@dataclass(frozen=True)
class Program:
    """A test program, or a library that tests preload into others."""

    name: str
    folder: str
    """Of the CMakeLists.txt that defines it, in the checkout."""

    sources: frozenset[str]
    """What is compiled for it alone."""

    objects: frozenset[str]
    """What is compiled for its object libraries, so for few programs."""

    linked: frozenset[str]
    """What is compiled for the other libraries that it depends on."""

    artifact: str
    """The path of the built file."""

    googletest: bool
    """All its tests run when it is called without arguments."""

    tests: tuple[str, ...]
    """Its other tests, by their names in CTest."""

    targets: tuple[str, ...]
    """What has to be built for them."""


def ask(build: Path) -> None:
    """Have the next configuration write the reply that `programs` reads."""
    query = build / ".cmake" / "api" / "v1" / "query" / "codemodel-v2"
    query.parent.mkdir(parents=True, exist_ok=True)
    query.touch()


def configured(build: Path) -> bool:
    """Whether there is a reply to `ask`."""
    return any((build / ".cmake" / "api" / "v1" / "reply").glob("index-*.json"))


def programs(build: Path) -> list[Program]:
    """Every executable and shared library that a test of the configured build folder runs."""
    reply = build / ".cmake" / "api" / "v1" / "reply"
    index = json.loads(max(reply.glob("index-*.json")).read_text())
    model = json.loads((reply / index["reply"]["codemodel-v2"]["jsonFile"]).read_text())
    targets = {
        each["id"]: json.loads((reply / each["jsonFile"]).read_text())
        for each in model["configurations"][0]["targets"]
    }
    discovered, commands = tests(build)
    users = {
        target["name"]: {
            name for name, command in commands.items() if mentions(command, artifact(build, target))
        }
        for target in targets.values()
        if target["type"] in ("EXECUTABLE", "SHARED_LIBRARY")
    }
    found = []
    for target in targets.values():
        name = target["name"]
        if name not in discovered and not users.get(name):
            continue
        found.append(
            Program(
                name=name,
                folder=target["paths"]["source"],
                sources=sources(target),
                objects=below(target, targets, "OBJECT_LIBRARY"),
                linked=below(target, targets, "STATIC_LIBRARY", "SHARED_LIBRARY"),
                artifact=artifact(build, target),
                googletest=name in discovered,
                tests=tuple(sorted(users[name])),
                targets=tuple(sorted({name, *(other for other in users if users[other] & users[name])})),
            )
        )
    return found


def artifact(build: Path, target: dict[str, Any]) -> str:
    """The path of what a target makes."""
    return str(build / target["artifacts"][0]["path"])


def mentions(command: str, path: str) -> bool:
    """Whether a command has a path in it, and not one that only begins so."""
    return re.search(re.escape(path) + r"(?![\w.+-])", command) is not None


def sources(target: dict[str, Any]) -> frozenset[str]:
    """The sources of a target, as paths in the checkout; those that CMake writes are not among them."""
    listed = [source["path"] for source in target.get("sources", []) if not source.get("isGenerated")]
    return frozenset(path for path in listed if not path.startswith(("/", "build/")))


def below(target: dict[str, Any], targets: dict[str, dict[str, Any]], *kinds: str) -> frozenset[str]:
    """The sources of the libraries of some kinds that a target depends on."""
    seen: set[str] = set()
    waiting = [target]
    while waiting:
        for each in waiting.pop().get("dependencies", []):
            if each["id"] not in seen and targets[each["id"]]["type"].endswith("_LIBRARY"):
                seen.add(each["id"])
                waiting.append(targets[each["id"]])
    return frozenset().union(*(sources(targets[key]) for key in seen if targets[key]["type"] in kinds))


def tests(build: Path) -> tuple[set[str], dict[str, str]]:
    """The targets whose tests GoogleTest lists, and the command of every other test, as CTest quotes it."""
    discovered: set[str] = set()
    commands: dict[str, str] = {}
    for path in build.rglob("CTestTestfile.cmake"):
        text = path.read_text()
        discovered.update(re.findall(r"([^/\"]+?)(?:\[\d+\])?_include\.cmake", text))
        commands.update(re.findall(ADD_TEST, text, re.MULTILINE | re.DOTALL))
    return discovered, commands
