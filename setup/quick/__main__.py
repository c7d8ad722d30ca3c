"""Run the tests of what changed against main, nearest first, in under two minutes.

    python3 setup/quick [--against REV] [--seconds N] [--jobs N] [--list]

The changed files are formatted and linted. Then the C++ programs and Python test files that belong to them
run (choice.py says which) until 100 seconds are spent: nothing starts that would not end in time, by what it
took before (build/quick.json), and what overruns is killed. What was not run is named at the end, with the
command that runs it: a pass here says nothing about the rest.
"""

import argparse
import os
import re
import shlex
import sys
import textwrap
import time
import tomllib
from pathlib import Path

import changes
import choice
import cmake
import includes
from steps import Outcome, Runner, Step

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / cmake.PRESET
BIN = ".venv/bin"
INSTALL = "setup/install"
CONFIGURE = f"cmake --preset {cmake.PRESET}"
PYTEST = f"{BIN}/python -m pytest"
SLOW = " (slow)"
"""Ends the name of the step of a file's slow tests."""

TOO_LONG = ("long", "browser", "workloads", "verdict")
"""Markers of tests that have a stage of their own."""

BUILT = ("library/", "lab/preload/", "lab/drag/", "lab/native/", "lab/spawn/", "lab/format/", "docs/library/")
"""Where files are that C++ tests may belong to."""

TESTED = ("library", "lab")
"""Where the C++ tests are defined that may be chosen."""


def main() -> int:
    """Choose, run and report."""
    begin = time.monotonic()
    parser = argparse.ArgumentParser(
        prog="setup/quick", description="Run the tests of what changed, nearest first."
    )
    parser.add_argument("--against", metavar="REV", help="compare with where HEAD left REV (default: main)")
    parser.add_argument(
        "--seconds", type=float, default=100, help="start nothing that would end later (default: 100)"
    )
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="steps that run at once"
    )
    parser.add_argument("--list", action="store_true", help="show what was chosen, and run nothing")
    options = parser.parse_args()
    try:
        commit, name = changes.baseline(ROOT, options.against)
        changed = changes.changed(ROOT, commit)
        if not changed:
            print(f"quick: nothing changed against {name}; no test was run")
            return 0
        if not (ROOT / BIN / "python").exists():
            raise changes.RefusalError("there is no .venv; make it with: setup/bootstrap test")
    except changes.RefusalError as refusal:
        print(f"quick: {refusal}", file=sys.stderr)
        return 2
    print(
        f"quick: {len(changed)} changed {'file' if len(changed) == 1 else 'files'} against {name}", flush=True
    )
    runner = Runner(ROOT, options.seconds, max(options.jobs, 1), begin)
    # Without a build folder --list shows no C++ programs: cmake knows them.
    run = show if options.list else runner.run
    files = changes.tracked(ROOT)
    choices = choice.python_tests(ROOT, changed, files)
    run(checks(changed))
    steps = test_steps(choice.nearest(choices))
    if steps:
        first = min(step.rank for step in steps)
        steps.append(Step(INSTALL, INSTALL, 20, first - 0.01, "for pytest", alone=True, needed=True))
    if any(built(path) for path in changed):
        cmake.ask(BUILD)
        if run([Step("configure", CONFIGURE, 10, alone=True, needed=True)]) and cmake.configured(BUILD):
            programs = {each.name: each for each in cmake.programs(BUILD) if each.folder.startswith(TESTED)}
            found = choice.cpp_programs(ROOT, changed, files, list(programs.values()))
            steps += [program_step(programs[each.name], each) for each in choice.nearest(found)]
            choices += found
        else:
            print("quick: no C++ test was chosen, since build/release is not configured")
    run(sorted(steps, key=lambda step: (step.rank, runner.expected(step))))
    if options.list:
        return 0
    caused = {each.cause for each in choices}
    untested = [path for path in changed if path not in caused and choice.testable(path)]
    return report(runner, untested, ["--against", options.against] if options.against else [])


def checks(changed: list[str]) -> list[Step]:
    """Format and lint checks of the changed files; mypy and lint-imports read what else they need."""
    existing = [path for path in changed if (ROOT / path).is_file()]
    python = shlex.join(path for path in existing if is_python(ROOT / path))
    cpp = shlex.join(
        path for path in existing if path.endswith(includes.SUFFIXES) and not path.endswith(".cppm")
    )
    steps = []
    if python:
        steps.append(Step("ruff check", f"{BIN}/ruff check -q {python}", 2))
        steps.append(Step("ruff format", f"{BIN}/ruff format --check -q {python}", 2))
    if cpp:
        steps.append(Step("clang-format", f"{BIN}/clang-format --dry-run -Werror {cpp}", 2))
    if any(path.startswith("lab/reap/") and path.endswith((".py", ".pyi")) for path in changed):
        steps.append(Step("mypy", f"{BIN}/mypy", 20))
        steps.append(Step("lint-imports", f"{BIN}/lint-imports --no-logo", 5))
    return steps


def is_python(path: Path) -> bool:
    """Whether a file is Python, by its name or, if that has no ending, by its first line."""
    if path.suffix:
        return path.suffix in (".py", ".pyi")
    with path.open("rb") as file:
        return file.readline(80).startswith(b"#!/usr/bin/env python3")


def built(path: str) -> bool:
    """Whether C++ tests may belong to a file."""
    return path.startswith(BUILT) or path in (
        "CMakeLists.txt",
        "CMakePresets.json",
        "README.md",
        "docs/marks.md",
    )


def test_steps(choices: list[choice.Choice]) -> list[Step]:
    """A step for each test file, and another for its slow tests."""
    steps = []
    # pytest refuses markers that pyproject.toml does not name.
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    known = {re.split(r"\W", line)[0] for line in settings["markers"]}
    others = [f"not {marker}" for marker in TOO_LONG if marker in known]
    for each in choices:
        path = shlex.quote(each.name)

        def command(slow: str, path: str = path) -> str:
            return f"{PYTEST} -q --tb=short -p no:cacheprovider -m '{' and '.join([slow, *others])}' {path}"

        steps.append(Step(each.name, command("not slow"), 8, each.rank, each.reason, needs=INSTALL))
        if "mark.slow" in (ROOT / each.name).read_text():
            steps.append(
                Step(each.name + SLOW, command("slow"), 20, each.rank + 0.5, each.reason, needs=INSTALL)
            )
    return steps


def program_step(program: cmake.Program, why: choice.Choice) -> Step:
    """Build a C++ test program and run all its tests."""
    # Each time, since setup/install configures the same folder without tests.
    commands = [CONFIGURE, f"cmake --build --preset {cmake.PRESET} --target {shlex.join(program.targets)}"]
    if program.googletest:
        commands.append(f"{shlex.quote(os.path.relpath(program.artifact, ROOT))} --gtest_brief=1")
    if program.tests:
        pattern = "|".join(re.escape(name) for name in program.tests)
        commands.append(f"ctest --preset {cmake.PRESET} -R {shlex.quote(f'^({pattern})$')}")
    return Step(program.name, " && ".join(commands), 30, why.rank, why.reason, alone=True)


def show(steps: list[Step]) -> bool:
    """Show steps instead of running them."""
    for step in steps:
        print(f"  {step.name}{f'  ({step.reason})' if step.reason else ''}")
    return True


def report(runner: Runner, untested: list[str], against: list[str]) -> int:
    """Print how many steps passed, and plainly what was not run; the exit status."""
    names: dict[str, list[str]] = {}
    for outcome in runner.outcomes:
        names.setdefault(outcome.verdict, []).append(outcome.step.name)
    failed = names.get("FAILED", [])
    print(f"\n{len(names.get('passed', []))} passed, {len(failed)} failed, in {runner.spent():.0f} s")
    late = [outcome for outcome in runner.outcomes if outcome.verdict in ("not run", "stopped")]
    # A file of which one half has no test is told only if the other half has none either.
    other = {
        outcome.step.name.removesuffix(SLOW) for outcome in runner.outcomes if outcome.verdict != "empty"
    }
    deselected = {name.removesuffix(SLOW) for name in names.get("empty", [])} - other
    tell("failed", failed)
    tell("not run for want of time", [about(outcome) for outcome in late])
    if late:
        seconds = runner.spent() + sum(outcome.seconds for outcome in late)
        again = ["python3", "setup/quick", *against, "--seconds", f"{seconds * 1.2:.0f}"]
        print(f"  run {'it' if len(late) == 1 else 'them'} with: {shlex.join(again)}")
    tell("not run, since what they need failed", names.get("blocked", []))
    tell(f"not run, since all their tests are marked {' or '.join(TOO_LONG)}", sorted(deselected))
    tell("no test is known for", untested)
    print("These are the tests nearest to the change; `make test` runs all.")
    return 1 if failed else 0


def tell(title: str, names: list[str]) -> None:
    """Print a list, if there is anything in it."""
    if names:
        text = f"{title}: {', '.join(names)}"
        indent = "  "
        print(
            textwrap.fill(text, 110, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        )


def about(outcome: Outcome) -> str:
    """A step that was not run, with the seconds that it is taken to need."""
    if outcome.verdict == "stopped":
        return f"{outcome.step.name} (stopped after {outcome.seconds:.0f} s)"
    return f"{outcome.step.name} (about {outcome.seconds:.0f} s)"


if __name__ == "__main__":
    sys.exit(main())
