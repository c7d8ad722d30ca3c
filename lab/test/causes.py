"""Programs whose cause is known by construction, compiled; what must be said of them is in truth/cases.py."""

import functools
from pathlib import Path

from building import OUT, compiled

CAUSES = Path(__file__).parent / "targets" / "causes"

_FLAGS = ("-g", "-O1", "-fno-builtin", "-fno-omit-frame-pointer", "-pthread")


@functools.cache
def cause_program() -> str:
    """The path of the C program, compiled. Its words are a mode and a scale."""
    return compiled("cause", ["gcc", *_FLAGS, *sorted(CAUSES.glob("*.c")), "-o", OUT])


@functools.cache
def cpp_program() -> str:
    """The path of the C++ program, compiled. Its words are the same."""
    return compiled("cause-cpp", ["g++", "-std=c++20", *_FLAGS, CAUSES / "cause.cpp", "-o", OUT])


@functools.cache
def go_program() -> str:
    """The path of the Go program, built without the network; throws where there is no Go."""
    return compiled("collect-go", ["go", "build", "-o", OUT, CAUSES / "collect.go"])


@functools.cache
def java_classes() -> str:
    """The folder of the Java program, compiled; throws where there is no JDK."""
    return compiled("collect-java", ["javac", "-d", OUT, CAUSES / "Collect.java"])
