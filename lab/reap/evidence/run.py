"""Measures a program for the wall: one run that nothing enters, one in which its allocations are counted.

Or watches a process that runs already, by what the kernel says alone.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from reap import native
from reap.allocators import library
from reap.base.errors import ExitCode, ReapError
from reap.base.records import Record
from reap.evidence import collectors_run, long_run, refusals
from reap.evidence import linked as linked_in
from reap.evidence import notes as wall_notes
from reap.evidence.analyse import collectors, facts, strace
from reap.evidence.analyse.counted import counted
from reap.evidence.analyse.coverage import unsampled
from reap.evidence.analyse.hints import hints
from reap.evidence.analyse.kernel import kernel_time
from reap.evidence.analyse.owners import ALLOCATOR_FILES, ALLOCATOR_FUNCTIONS, Sample
from reap.evidence.records import Requests, Wall
from reap.evidence.refusals import Refusal
from reap.launch import spawn
from reap.launch.host import calibration, memory
from reap.launch.process import attach, smaps
from reap.launch.process.records import Moment
from reap.launch.program import Program
from reap.launch.records import Launch, Outcome
from reap.launch.tools import syscalls
from reap.recording import read as traces
from reap.recording import watch
from reap.recording.analyse.growth import growth
from reap.recording.analyse.profile import profile as analyse
from reap.recording.record import told
from reap.recording.records import Profile, Share
from reap.rss import watch as residence

COUNTED = "recording.reap"
"""The recording of the counted run in the folder."""
_SAMPLED = "sampled.reap"
RECORDINGS = (COUNTED, _SAMPLED)
"""What may be in the folder afterwards."""
_WORTH_ASKING = 16 << 20
"""Bytes that seem free in the heap, from which on glibc is asked: half of what is ever called a cause."""
_ASKED_EVERY = 0.05
"""Seconds."""
_PERIOD = 1e-3
"""Seconds of CPU time a sample stands for, as `watch.run` samples."""

Say = Callable[[str], None]
Start = Callable[[Launch], Outcome]


class Measured(Record):
    """Results of watching one program and of counting its allocations."""

    wall: Wall
    stacks: list[str] = []
    """Folded, as `evidence.analyse.facts.folded` has them."""
    status: int = 0
    """The program's own."""
    recorded: bool = False
    """Whether there is a recording of the counted run."""
    timed_out: bool = False
    """Whether the counted run did not end in time: what is known is of the time until then."""
    interrupted: bool = False
    """Whether Ctrl-C ended the first run: the same, and there was no other."""


@dataclass(frozen=True)
class _Counting:
    """The run in which allocations were counted."""

    outcome: Outcome
    recording: native.Recording
    profile: Profile

    def files(self) -> list[str]:
        """The files that served malloc, but for the C library."""
        providers = {image.provider for image in self.recording.images()}
        served = [path for path in providers if path and not Path(path).name.startswith("libc.so")]
        return sorted({name for path in served for name in library.names(path)})


def measure(
    launch: Launch,
    program: Program,
    folder: Path,
    say: Say,
    *,
    by_strace: bool = False,
    start: Start = spawn.run,
) -> Measured:
    """Runs the program twice and returns what was seen. Its files are in `folder`.

    Ctrl-C ends the first run as a time limit does, and later ones by a KeyboardInterrupt. `by_strace` runs it
    once more where the kernel's tracepoints do not count its system calls. `start` runs it to its end. Throws
    ReapError where it cannot be run, or what was seen not be read.
    """
    calibrated = calibration.here(say)
    (folder / _SAMPLED).unlink(missing_ok=True)  # of a run that was killed
    say("watching one run: nothing is loaded into it")
    why_not = _uncountable(program)
    with _slab_growth() as growth, long_run.told(say):
        alone = replace(launch, interruptible=True)
        outcome = watch.run(alone, folder / _SAMPLED, faults=bool(why_not), start=start)
    if outcome.interrupted:
        why_not = why_not or "Ctrl-C ended the run before"
    first = _read(folder / _SAMPLED, ALLOCATOR_FILES)
    notes = [*program.notes, *wall_notes.of_watching(launch, outcome)]
    counting = None
    refused = None
    if why_not:
        notes.append(f"its allocations were not counted: {why_not}")
    else:
        say(f"counting its allocations in {long_run.another(outcome.wall_ns / 1e9)}")
        counting = _counted(launch, folder, start)
        notes += wall_notes.of_counting(outcome, counting.outcome)
        if refused := refusals.find(launch, outcome, counting.outcome, start):
            counting = None
            notes[-1] = f"its allocations were not counted: {refused.why}"
        else:
            notes += told(counting.outcome)
    files = [
        *ALLOCATOR_FILES,
        *(library.names(launch.allocator) if launch.allocator else []),
        *(counting.files() if counting else []),
    ]
    seen = first if files == ALLOCATOR_FILES else _read(folder / _SAMPLED, files)
    calls = _read(folder / COUNTED, files) if counting else None
    wall = _wall(
        seen, calls, counting.profile if counting else None, outcome, launch, growth(), program.image
    )
    if counting is not None and calls is not None:
        wall = _with_counted(wall, counting)
        suspected = facts.free_in_heap(calls, counting.profile.live) or 0
        askable = start is spawn.run and wall.allocator in {"", "glibc"}
        if suspected >= _WORTH_ASKING and wall.growth is None and askable:
            say("asking glibc in a further run how much of its heap is free")
            wall = replace(wall, resident=replace(wall.resident, trimmable=_trimmable(launch)))
    if not outcome.interrupted and outcome.wall_ns < long_run.LONG * 1e9:
        heard = collectors_run.with_heard(launch, first, wall.collections, say, start)
        wall = replace(wall, collections=heard)
    if by_strace and wall.calls is None and not outcome.interrupted:
        say("counting its system calls by strace in a further run")
        wall = _with_strace(wall, launch)
        notes.append(wall_notes.STRACE)
    notes += wall_notes.of_sources(seen, calls, traced=wall.calls is not None)
    notes += [calibrated.note] if calibrated.note else []
    return Measured(
        wall=replace(
            collectors.with_shares(wall),
            notes=notes,
            unfinished=outcome.timed_out or outcome.interrupted,
            refused=refused is not None and refused.every,
            irreplaceable=_irreplaceable(program, refused),
            calibration=calibrated.costs,
        ),
        stacks=facts.folded(seen),
        status=_status(outcome),
        interrupted=outcome.interrupted,
        recorded=counting is not None,
        timed_out=counting is not None and counting.outcome.timed_out,
    )


def watch_running(pid: int, seconds: float, folder: Path, say: Say) -> Measured:
    """Watches a process that runs: nothing enters it, and it is not stopped. Throws ReapError."""
    command = attach.command_of(pid)
    titled = smaps.titled(pid, command)
    if pid == os.getpid():
        raise ReapError(f"{pid} is this very process", "name another", ExitCode.USAGE)
    calibrated = calibration.here(say)
    say(f"watching process {pid} for {seconds:g} s (Ctrl-C ends it earlier)")
    image = _image_of(pid)
    with _slab_growth() as growth:
        cost = watch.running(pid, seconds, folder / _SAMPLED)
    seen = _read(folder / _SAMPLED, ALLOCATOR_FILES)
    outcome = Outcome(
        exit_code=0,
        wall_ns=cost.wall_ns,
        user_ns=cost.user_ns,
        system_ns=cost.system_ns,
        minor_faults=cost.minor_faults,
        major_faults=cost.major_faults,
    )
    wall = _wall(seen, seen, None, outcome, Launch(argv=command, program=""), growth(), image)
    notes = [f"process {pid} ended while it was watched"] if cost.ended else []
    if cost.wall_ns and not cost.user_ns + cost.system_ns:
        notes.append("it used no CPU time while it was watched; give it work, or watch it for longer")
    notes += wall_notes.of_sources(seen, seen)
    notes += [calibrated.note] if calibrated.note else []
    wall = replace(
        collectors.with_shares(wall),
        pid=pid,
        custom_title=titled,
        notes=notes,
        calibration=calibrated.costs,
    )
    return Measured(wall=wall, stacks=facts.folded(seen))


def _status(outcome: Outcome) -> int:
    if outcome.interrupted:
        return ExitCode.SIGNALLED + signal.SIGINT
    return ExitCode.TIMED_OUT if outcome.timed_out else outcome.status


def _image_of(pid: int) -> str:
    """The file that a process executes; empty where that is not known."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


def _irreplaceable(program: Program, refused: Refusal | None) -> str:
    """Reason why no other allocator can serve the program; empty where one can."""
    if not program.takes_allocators:
        return _uncountable(program)
    return refused.why if refused and refused.every else ""


def _uncountable(program: Program) -> str:
    """Reason why the recorder would see nothing of the program; empty where there is none."""
    return program.obstacle or ("it brings its own malloc" if program.brings_malloc else "")


@contextlib.contextmanager
def _slab_growth() -> Iterator[Callable[[], int | None]]:
    """By how much the kernel's slabs grew inside it, told afterwards; None where that is not known."""
    before = memory.kernel_slabs()
    grown: list[int] = []
    yield lambda: grown[0] if grown else None
    after = memory.kernel_slabs()
    if before is not None and after is not None:
        grown.append(max(0, after - before))


def _counted(launch: Launch, folder: Path, start: Start) -> _Counting:
    outcome = watch.counted(launch, folder / COUNTED, start)
    recording = traces.read(folder / COUNTED)
    return _Counting(outcome, recording, analyse(recording, launch.argv))


def _with_counted(wall: Wall, counting: _Counting) -> Wall:
    """The facts with what the recorder counted and timed."""
    totals = counting.recording.totals()
    return replace(
        wall,
        growth=growth(counting.profile),
        counted=counted(counting.profile, totals, cpu_seconds=counting.outcome.cpu_ns * 1e-9),
        latency=facts.latency(counting.profile, native.clock_cost(native.choose_clock())),
    )


def _with_strace(wall: Wall, launch: Launch) -> Wall:
    with syscalls.traced(launch, strace.WATCHED) as (_, lines):
        counted, connections, reads = strace.calls(lines)
    asked = wall.requests
    if asked.unit != "mark":
        asked = facts.guessed_requests(connections, reads, asked.allocations)
    return replace(wall, calls=counted, requests=asked)


def _read(path: Path, files: list[str]) -> native.Watched:
    return watch.read(path, files=files, functions=ALLOCATOR_FUNCTIONS)


def _trimmable(launch: Launch) -> int | None:
    """Free pages that glibc reports in a run in which it is asked."""
    moments: list[Moment] = []
    residence.run(launch, _ASKED_EVERY, moments.append, ask=True)
    return facts.trimmable(moments)


def _wall(
    seen: native.Watched,
    calls: native.Watched | None,
    profile: Profile | None,
    outcome: Outcome,
    launch: Launch,
    growth: int | None,
    image: str,
) -> Wall:
    rows, share, kernel = _samples(seen, calls, profile)
    requested = profile.totals.total_bytes if profile else None
    fresh = facts.fresh_bytes(calls or seen, outcome.minor_faults)
    linked = linked_in.find(seen.files(), image, rows, counted=requested, fresh=fresh)
    return Wall(
        command=launch.argv,
        allocator=linked_in.name_of(facts.allocator(rows), linked),
        wall_seconds=outcome.wall_ns * 1e-9,
        cpu_seconds=outcome.cpu_ns * 1e-9,
        user_seconds=outcome.user_ns * 1e-9,
        system_seconds=outcome.system_ns * 1e-9,
        threads=seen.totals().threads,
        share=linked_in.bounded(share, linked),
        owners=facts.owners(rows),
        locking=facts.locking(rows),
        filling=facts.filling(rows),
        kernel=kernel,
        kernel_time=kernel_time(rows),
        linked=linked,
        unsampled=_unsampled(seen, outcome),
        hints=hints(rows),
        hot=facts.hot(rows),
        requests=facts.requests(calls, profile) if calls and profile else Requests(),
        faults=facts.faults(calls or seen, minor=outcome.minor_faults, major=outcome.major_faults),
        calls=facts.calls(calls) if calls else None,
        waiting=facts.waiting(seen, outcome.wall_ns * 1e-9, outcome.cpu_ns * 1e-9),
        resident=facts.resident(seen, peak=outcome.peak_resident),
        collections=facts.collectors(rows, _PERIOD),
        slab=facts.slab(rows, growth=growth, names=seen.sources().kernel_names),
    )


def _unsampled(seen: native.Watched, outcome: Outcome) -> float | None:
    """Of the run that nothing entered; None where perf events did not sample it."""
    sources = seen.sources()
    if sources.samples.errno:
        return None
    nanoseconds = outcome.cpu_ns if sources.sampler_kernel else outcome.user_ns
    return unsampled(facts.samples(seen), seen.totals().recorder, nanoseconds * 1e-9, _PERIOD)


def _samples(
    seen: native.Watched, calls: native.Watched | None, profile: Profile | None
) -> tuple[list[Sample], Share | None, bool]:
    """Samples of the run that nothing entered; without perf events those of the recorder's timer."""
    sees_kernel = seen.sources().sampler_kernel
    rows = facts.samples(seen)
    if rows or calls is None or profile is None or profile.share is None:
        return rows, facts.share(rows, sees_kernel=sees_kernel), sees_kernel and bool(rows)
    return facts.samples(calls), profile.share, profile.share.sees_kernel
