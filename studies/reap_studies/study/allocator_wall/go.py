"""The study of the allocator wall on Go, whose runtime has its own allocator: does a preload matter?"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from reap.api import ExitCode, Launch, ReapError, units
from reap_studies.study.allocator_wall.asks import Ask, Bench
from reap_studies.study.allocator_wall.records import Place

SETTING = "100 objects a request"
_PATIENCE = 300.0
"""Seconds for the compiler, which may have Go's own packages to build first."""


def build(source: Path, program: Path) -> Launch:
    """Compiles the program, unless it is there; statically, as Go does. Throws ReapError."""
    if not program.is_file():
        _compile(source, program)
    return Launch(argv=[str(program)], program=str(program))


def _compile(source: Path, program: Path) -> None:
    compiler = shutil.which("go")
    if compiler is None:
        raise ReapError(
            "go, which compiles the program in Go, is not installed",
            "sudo apt-get install --no-install-recommends golang-go; without it the claim on Go is not "
            "judged",
            ExitCode.NOT_FOUND,
        )
    with tempfile.TemporaryDirectory(prefix=".go-", dir=program.parent) as scratch:
        made = Path(scratch) / program.name
        try:
            done = subprocess.run(
                [compiler, "build", "-o", str(made), str(source)],
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "GO111MODULE": "off", "CGO_ENABLED": "0"},
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ReapError(f"go did not compile {source.name} in {units.about(_PATIENCE)}", "") from None
        if done.returncode != 0 or not made.is_file():
            raise ReapError(f"go cannot compile {source.name}", done.stderr.strip()[-500:])
        made.rename(program)


def asks(bench: Bench) -> list[Ask]:
    """The same program with each allocator preloaded; none where it could not be compiled."""
    if bench.go is None:
        return []
    return [
        Ask(
            Place(part="go", arm=each.name, setting=SETTING),
            Launch(
                argv=bench.go.argv,
                program=bench.go.program,
                allocator=each.library,
                remove=["LD_PRELOAD", "GOGC", "GODEBUG"],
                timeout=300,
            ),
        )
        for each in bench.allocators
    ]
