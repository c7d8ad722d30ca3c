"""Measures a program for the wall: one run that nothing enters, one in which its allocations are counted.

Or watches a process that runs already, by what the kernel says alone.
"""

from __future__ import annotations  # the types of reap.native stand in its stub and not in the module

import os
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from reap import native
from reap.analysis import wall as facts
from reap.analysis import wall_strace
from reap.analysis.profile import profile as analyse
from reap.analysis.records import Profile, Share
from reap.analysis.wall_owners import ALLOCATOR_FILES, ALLOCATOR_FUNCTIONS, Sample
from reap.analysis.wall_records import Requests, Wall
from reap.errors import ExitCode, ReapError
from reap.experiment import collectors, wall_notes
from reap.launch import attach, memory, syscalls
from reap.launch.program import Program
from reap.launch.records import Launch, Outcome
from reap.records import Record
from reap.trace import clock, watch
from reap.trace import read as traces

COUNTED = "counted.reap"
"""The recording of the counted run in the folder."""
_SAMPLED = "sampled.reap"
RECORDINGS = (COUNTED, _SAMPLED)
"""What may be in the folder afterwards."""
_PERIOD = 1e-3
"""Seconds of processor time a sample stands for, as `watch.run` samples."""

Say = Callable[[str], None]


class Measured(Record):
    """What came of it."""

    wall: Wall
    stacks: list[str] = []
    """Folded, as `analysis.wall.folded` has them."""
    status: int = 0
    """The program's own."""
    recorded: bool = False
    """Whether there is a recording of the counted run."""


def measure(launch: Launch, program: Program, folder: Path, say: Say, *, by_strace: bool = False) -> Measured:
    """Runs the program twice and says what was seen. Its files are in `folder`.

    `by_strace` runs it once more where the kernel's tracepoints do not count its system calls.
    Throws ReapError where it cannot be run, or what was seen not be read.
    """
    say("watching one run: nothing is loaded into it")
    before = memory.kernel_slabs()
    countable = not program.obstacle and not program.brings_malloc
    outcome = watch.run(launch, folder / _SAMPLED, faults=not countable)
    after = memory.kernel_slabs()
    notes = list(program.notes)
    if outcome.timed_out:
        notes.append(f"it was ended after {launch.timeout:g} s, so that what it does at its end was not seen")
    recording, counting = None, outcome
    first = _read(folder / _SAMPLED, ALLOCATOR_FILES)
    if program.obstacle:
        notes.append(f"its allocations were not counted: {program.obstacle}")
    elif program.brings_malloc:
        notes.append("its allocations were not counted: it brings its own malloc")
    else:
        say("counting its allocations in another run")
        counting = watch.counted(launch, folder / COUNTED)
        notes += wall_notes.of_counting(outcome, counting)
        recording = traces.read(folder / COUNTED)
    providers = [image["provider"] for image in recording.images()] if recording else []
    files = [*ALLOCATOR_FILES, *([launch.allocator] if launch.allocator else []), *_not_libc(providers)]
    seen = first if files == ALLOCATOR_FILES else _read(folder / _SAMPLED, files)
    calls = _read(folder / COUNTED, files) if recording else None
    profile = analyse(recording, launch.argv) if recording else None
    growth = max(0, after - before) if before is not None and after is not None else None
    wall = _wall(seen, calls, profile, outcome, launch, growth)
    if recording is not None and profile is not None and calls is not None:
        held = facts.trimmable(calls, profile.live)
        frees = recording.totals()["frees"]
        wall = replace(
            wall,
            resident=replace(wall.resident, trimmable=held),
            counted=facts.counted(profile, cpu_seconds=counting.cpu_ns * 1e-9, frees=frees),
            latency=facts.latency(profile, native.clock_cost(clock.choose())),
        )
    sampled = [row.function for row in facts.samples(first)]
    heard = collectors.hear(launch, [program.image, *first.files()], sampled, say)
    wall = replace(wall, collections=facts.with_heard(wall.collections, heard))
    if by_strace and wall.calls is None:
        say("counting its system calls by strace in a further run")
        wall = _with_strace(wall, launch)
        notes.append(wall_notes.STRACE)
    notes += wall_notes.of_sources(seen, calls, traced=wall.calls is not None)
    return Measured(
        wall=replace(wall, notes=notes),
        stacks=facts.folded(seen),
        status=ExitCode.TIMED_OUT if outcome.timed_out else outcome.status,
        recorded=recording is not None,
    )


def watch_running(pid: int, seconds: float, folder: Path, say: Say) -> Measured:
    """Watches a process that runs: nothing enters it, and it is not stopped. Throws ReapError."""
    command = attach.command_of(pid)
    if pid == os.getpid():
        raise ReapError(f"{pid} is this very process", "name another", ExitCode.USAGE)
    say(f"watching process {pid} for {seconds:g} s (Ctrl-C ends it earlier)")
    before = memory.kernel_slabs()
    cost = watch.running(pid, seconds, folder / _SAMPLED)
    after = memory.kernel_slabs()
    seen = _read(folder / _SAMPLED, ALLOCATOR_FILES)
    outcome = Outcome(
        exit_code=0,
        wall_ns=cost.wall_ns,
        user_ns=cost.user_ns,
        system_ns=cost.system_ns,
        minor_faults=cost.minor_faults,
        major_faults=cost.major_faults,
    )
    growth = max(0, after - before) if before is not None and after is not None else None
    wall = _wall(seen, seen, None, outcome, Launch(argv=command, program=""), growth)
    notes = [f"process {pid} ended while it was watched"] if cost.ended else []
    if cost.wall_ns and not cost.user_ns + cost.system_ns:
        notes.append("it used no processor time while it was watched; give it work, or watch it for longer")
    notes += wall_notes.of_sources(seen, seen)
    return Measured(wall=replace(wall, pid=pid, notes=notes), stacks=facts.folded(seen))


def _with_strace(wall: Wall, launch: Launch) -> Wall:
    with syscalls.traced(launch, wall_strace.WATCHED) as (_, lines):
        counted, connections, reads = wall_strace.calls(lines)
    asked = wall.requests
    if asked.unit != "mark":
        asked = facts.guessed_requests(connections, reads, asked.allocations)
    return replace(wall, calls=counted, requests=asked)


def _read(path: Path, files: list[str]) -> native.Watched:
    return watch.read(path, files=files, functions=ALLOCATOR_FUNCTIONS)


def _wall(
    seen: native.Watched,
    calls: native.Watched | None,
    profile: Profile | None,
    outcome: Outcome,
    launch: Launch,
    growth: int | None,
) -> Wall:
    rows, share, kernel = _samples(seen, calls, profile)
    return Wall(
        command=launch.argv,
        allocator=facts.allocator(rows),
        wall_seconds=outcome.wall_ns * 1e-9,
        cpu_seconds=outcome.cpu_ns * 1e-9,
        user_seconds=outcome.user_ns * 1e-9,
        system_seconds=outcome.system_ns * 1e-9,
        threads=seen.totals()["threads"],
        share=share,
        owners=facts.owners(rows),
        kernel=kernel,
        hot=facts.hot(rows),
        requests=facts.requests(calls, profile) if calls and profile else Requests(),
        faults=facts.faults(calls or seen, minor=outcome.minor_faults, major=outcome.major_faults),
        calls=facts.calls(calls) if calls else None,
        waiting=facts.waiting(seen, outcome.wall_ns * 1e-9),
        resident=facts.resident(seen, peak=outcome.peak_resident),
        collections=facts.collectors(rows, _PERIOD),
        slab=facts.slab(rows, growth=growth, names=seen.sources()["kernel_names"]),
    )


def _samples(
    seen: native.Watched, calls: native.Watched | None, profile: Profile | None
) -> tuple[list[Sample], Share | None, bool]:
    """Samples of the run that nothing entered; without perf events those of the recorder's timer."""
    sees_kernel = seen.sources()["sampler_kernel"]
    rows = facts.samples(seen)
    if rows or calls is None or profile is None or profile.share is None:
        return rows, facts.share(rows, sees_kernel=sees_kernel), sees_kernel and bool(rows)
    return facts.samples(calls), profile.share, profile.share.sees_kernel


def _not_libc(providers: list[str]) -> list[str]:
    return sorted({path for path in providers if path and not path.rpartition("/")[2].startswith("libc.so")})
