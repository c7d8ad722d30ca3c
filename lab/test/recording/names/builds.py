"""A program of which there are two builds at one path."""

import subprocess
from pathlib import Path

from reap import native

PROGRAM = r"""
#include <stdlib.h>
#define NI __attribute__((noinline))
#ifdef SECOND
NI void *parse_header(int n) { char *volatile p = malloc(n); *p = 2; return p; }
#endif
NI void *read_body(int n) { char *volatile p = malloc(n); *p = 1; return p; }
NI void *write_log(int n) { char *volatile p = malloc(n); *p = 1; return p; }
int main(int count, char **words) {
    for (int i = 0; i < 100; i++) {
        if (i == 50 && count > 1 && system(words[1])) return 1;
        free(read_body(1000)), free(write_log(50));
#ifdef SECOND
        free(parse_header(20));
#endif
    }
    return 0;
}
"""
FIRST = {"read_body", "write_log", "main", "_start"}
"""The names in the stacks of the first build."""


def build(file: Path, *flags: str, source: str = PROGRAM) -> str:
    """Compiles the program, with debug information, into the file. Returns its path."""
    command = ["gcc", "-O1", "-g", "-w", "-x", "c", "-", "-o", str(file), *flags]
    subprocess.run(command, input=source.encode(), check=True)
    return str(file)


def address_of(file: str, function: str) -> int:
    """Where a file has a function."""
    lines = subprocess.check_output(["nm", file], text=True).splitlines()
    return int(next(line.split()[0] for line in lines if line.endswith(f" {function}")), 16)


def functions(recording: native.Recording, module: str = "prog") -> set[str]:
    """The names that a module's functions have in stacks; MODULE+0x where one has none."""
    return {
        function or f"{module}+0x"
        for image, stack, *_ in recording.stacks(1000)
        for path, _, function, *_ in recording.frames(image, stack)
        if path.rpartition("/")[2] == module
    }


def build_id(file: Path) -> str:
    """In hexadecimal."""
    notes = subprocess.run(["readelf", "-n", str(file)], capture_output=True, text=True, check=True).stdout
    return notes.partition("Build ID: ")[2].split()[0]
