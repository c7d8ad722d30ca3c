"""The CPythons that recorded programs run in: this system's, and those that setup/interpreters brings."""

from pathlib import Path

import pytest

PYTHON = "/usr/bin/python3"

KEPT = Path(__file__).parents[4] / "build" / "interpreters"
"""Where setup/interpreters puts those that this system does not have."""
LIBRARIES = KEPT / "3.13/usr/lib/x86_64-linux-gnu"
INTERPRETERS = {
    "own": ([PYTHON], {}),
    "3.12": (
        [str(KEPT / "3.12/bin/python3.12")],
        {"LD_LIBRARY_PATH": str(KEPT / "3.12"), "PYTHONHOME": str(KEPT / "3.12")},
    ),
    "3.13": (
        [
            *(str(LIBRARIES / "ld-linux-x86-64.so.2"), "--library-path", str(LIBRARIES)),
            str(KEPT / "3.13/usr/bin/python3.13"),
        ],
        {"PYTHONHOME": str(KEPT / "3.13/usr")},
    ),
}


def interpreter(name):
    """Its command and the environment that it needs; skips the test where it is not there."""
    command, variables = INTERPRETERS[name]
    if not all(Path(word).exists() for word in command if word.startswith("/")):
        pytest.skip(f"setup/interpreters could not get CPython {name}")
    return command, variables


GONE = "(unknown Python function)"
"""What a recording from outside says of code that was gone before it was read."""


def python_frames(stacks, row):
    """The lines of Python in a stack, innermost first."""
    frames = zip(stacks["frames"][row], stacks["locations"][row], strict=True)
    return [
        [function, where]
        for function, where in frames
        if function == GONE or where.rpartition(":")[0].endswith((".py", ">"))
    ]
