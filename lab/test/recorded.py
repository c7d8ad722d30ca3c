"""Programs that know the truth about their own allocations, and recordings of them."""

import functools
import sys
from dataclasses import dataclass
from pathlib import Path

from building import OUT, compiled

from reap import native
from reap.drag.exact import recompiled
from reap.launch import native_files, spawn
from reap.launch.records import Launch, Outcome
from reap.recording import read, record
from reap.recording.analyse.profile import CALLS, profile
from reap.recording.records import Profile

TARGETS = Path(__file__).parent / "targets"


@functools.cache
def target(name: str, *flags: str) -> str:
    """The path of one of the programs in targets/, compiled with debug information."""
    source = next(TARGETS.glob(f"{name}.c*"))
    compiler = "gcc" if source.suffix == ".c" else "g++"
    called = "-".join(
        ["target", name.replace("/", "-"), *(flag.strip("-").replace("/", "_") for flag in flags)]
    )
    options = ["-g", "-O1", "-fno-builtin", "-pthread", "-w"]
    return compiled(called, [compiler, *options, source, "-o", OUT, *flags])


@functools.cache
def drag_compiled(name: str, *flags: str, compiler: str = "") -> str:
    """The path of one of the programs in targets/, compiled by reap-drag-cc or reap-drag-c++."""
    source = next(TARGETS.glob(f"{name}.c*"))
    wrapper = Path(sys.executable).with_name("reap-drag-cc" if source.suffix == ".c" else "reap-drag-c++")
    callbacks, assembler = native_files.preload("drag-callbacks"), native_files.assembler()
    return compiled(
        f"recompiled-{name.replace('/', '-')}{compiler}",
        [str(wrapper), *flags, source, "-o", OUT],
        compiler_files=[Path(recompiled.__file__), callbacks, assembler],
        environment={"REAP_CC": compiler, "REAP_CXX": compiler} if compiler else None,
    )


@dataclass(frozen=True)
class Recorded:
    """A recording, and what the launcher says of the run."""

    outcome: Outcome
    recording: native.Recording
    path: Path

    @functools.cached_property
    def totals(self) -> native.Totals:
        return self.recording.totals()

    @functools.cached_property
    def profile(self) -> Profile:
        return profile(self.recording, [])

    @property
    def objects(self) -> int:
        return sum(image.objects for image in self.recording.images())

    @property
    def bytes(self) -> int:
        return sum(image.bytes for image in self.recording.images())

    @property
    def calls(self) -> dict[str, int]:
        return {name: count for name, count in zip(CALLS, self.totals.calls, strict=False) if count}


def recorded(folder: Path, depth: record.Depth, *argv: str, **options: object) -> Recorded:
    """Runs a program under the recorder, its output captured; reads what came of it.

    In triage from samples alone, however few events the program has.
    """
    path = folder / f"{depth}.reap"
    launch = Launch(argv=list(argv), program=argv[0], **options)
    outcome = record.record(launch, path, depth, force=True, exactly=False)
    return Recorded(outcome, read.read(path), path)


def recorded_as(
    folder: Path,
    *argv: str,
    depth: int,
    sampler: int,
    period_us: int = 1000,
    period_bytes: int = 0,
    **options: object,
) -> Recorded:
    """The same into a trace made by hand: another sampler than the machine would choose, a fixed period."""
    path = folder / "by-hand.reap"
    path.unlink(missing_ok=True)
    native.create_trace(str(path), depth, native.choose_clock(), sampler, period_us, period_bytes)
    launch = Launch(
        argv=list(argv),
        program=argv[0],
        preloads=[str(native_files.preload("record"))],
        environment={native.TRACE_ENV: str(path)},
        options=["--trace", str(path)],
        **options,
    )
    outcome = spawn.run(launch)
    record.finish(path)
    return Recorded(outcome, read.read(path), path)


def shell(folder: Path, depth: record.Depth, script: str, **options: object) -> Recorded:
    """The same for a shell script."""
    return recorded(folder, depth, "/bin/sh", "-c", script, **options)
