"""One run of a program on a fragmented heap, its size profile taken first where there is none."""

import tempfile
from pathlib import Path

import msgspec

from reap import __version__
from reap.allocators.records import Allocator
from reap.base import units
from reap.base.errors import ReapError
from reap.base.records import Record
from reap.fragment.heap_map import HeapMap
from reap.launch import hung
from reap.launch.litter import run as littering
from reap.launch.litter.records import Litter, Littered, Littering
from reap.launch.program import Program
from reap.launch.records import Launch
from reap.recording import read, record
from reap.recording.analyse import size_profile as profiles
from reap.recording.analyse.size_profile import SizeProfile

_MOSTLY = 0.5
"""The share of bytes beyond the cut-off from which a note says so."""
_RECORDING = b"RPTRACE1"
"""How a recording begins; a size profile begins with a brace."""


class FragmentRun(Record):
    """One run on a fragmented heap, and the data behind it."""

    command: list[str]
    allocator: str
    """Its name; of another that served malloc in its place, the file's."""
    provider: str
    """The end of the path of the file that served malloc; empty if nothing was littered."""
    litter: Litter
    profile: SizeProfile
    run: Littered
    notes: list[str] = []
    """What a reader must know, the gravest first."""
    heap: HeapMap | None = None
    """Where its blocks lay in another such run, if that was asked for."""


def load_profile(path: Path, *, cut_off: int) -> SizeProfile:
    """The profile in a file: a size profile, or a recording to take it from. Throws ReapError.

    A size profile has its own cut-off, which can only be lowered.
    """
    try:
        with path.open("rb") as file:
            recorded = file.read(len(_RECORDING)) == _RECORDING
        data = b"" if recorded else path.read_bytes()
    except OSError as error:
        raise ReapError(f"the profile {path} cannot be read: {error.strerror}", "check the path") from error
    if recorded:
        return profiles.size_profile(read.read(path), cut_off=cut_off, reap_version=__version__)
    return profiles.narrow(profiles.decode(data, str(path)), cut_off)


def _others(allocator: Allocator, run: Littered) -> list[str]:
    """The names of the files that served malloc, and are not the allocator's."""
    served = {Path(each.provider).name for each in run.litterings} - {""}
    expected = Path(allocator.library).resolve().name if allocator.library else "libc.so.6"
    return sorted(name for name in served if name not in (expected, Path(allocator.library).name))


def take_profile(launch: Launch, *, cut_off: int) -> SizeProfile:
    """Runs the program once under the recorder, its output discarded, and returns its size profile.

    Throws ReapError if it cannot be run, does not end in time, or allocates nothing that a heap could be
    littered with.
    """
    with tempfile.TemporaryDirectory(prefix="reap-profile-") as folder:
        path = Path(folder) / "profile.reap"
        outcome = record.record(msgspec.structs.replace(launch, capture=True), path, "triage", names=False)
        if outcome.timed_out:
            alone = hung.bare(launch)
            raise hung.too_long(
                f"{launch.argv[0]}, whose size profile was taken,",
                alone,
                {"record": alone},
                "give it more --timeout, a smaller input, or --litter profile=FILE",
            )
        return profiles.size_profile(read.read(path), cut_off=cut_off, reap_version=__version__)


def fragment(
    program: Program, launch: Launch, allocator: Allocator, litter: Litter, profile: SizeProfile
) -> FragmentRun:
    """Runs the program on a heap littered like that. `launch` has the allocator already.

    Throws ReapError if the litter would not fit into memory, or the program cannot be run.
    """
    run = littering.run(launch, litter, image=program.image)
    return FragmentRun(
        command=program.command,
        allocator=" and ".join(_others(allocator, run)) or allocator.name,
        provider=next((each.provider for each in run.litterings), ""),
        litter=litter,
        profile=profile,
        run=run,
        notes=_notes(program, allocator, litter, profile, run),
    )


def mostly_left_out(profile: SizeProfile) -> list[str]:
    """A note, where a litter of small blocks is little beside what the program takes."""
    if profile.left_out_share <= _MOSTLY:
        return []
    share, large = units.percent(profile.left_out_share), units.whole(profile.cut_off)
    said = f"{share} of what it allocates is in blocks of {large} bytes and more, which are not imitated"
    instead = (
        "of chunks of its own allocator take the naive variant's profile, else a higher cut-off (--litter)"
    )
    return [f"{said}: {instead}"]


def not_waited_for(processes: int) -> str:
    """A note, where so many littered processes are on no clock."""
    return (
        f"{units.whole(processes)} of the processes littered were not waited for, and the kernel counts "
        "neither their litter nor what they did: the times and faults are those of the others"
    )


def _absent_threads(litter: Litter, run: Littered) -> list[str]:
    """Threads that the profile saw at once and this run did not create have taken their share with them."""
    sound = [each for each in run.litterings if not each.failure]
    most = max((_laid_in(sound, pid) for pid in {each.pid for each in sound}), default=litter.objects)
    if most >= litter.objects:
        return []
    part = units.percent(most / litter.objects)
    said = f"{part} of the litter was laid: {litter.threads} threads were to share it, and fewer were created"
    return [f"{said} (--litter threads=no gives all to the first)"]


def _laid_in(litterings: list[Littering], pid: int) -> int:
    """Objects in the heap of a process, with those that it was forked with.

    Threads are numbered on in a forked process: those below its own first one littered before the fork.
    """
    own = [each for each in litterings if each.pid == pid]
    first = min(each.thread for each in own)
    inherited: dict[int, int] = {}
    for each in litterings:
        if each.thread < first:
            inherited[each.thread] = max(inherited.get(each.thread, 0), each.objects)
    return sum(each.objects for each in own) + sum(inherited.values())


def _notes(
    program: Program, allocator: Allocator, litter: Litter, profile: SizeProfile, run: Littered
) -> list[str]:
    said = []
    if run.overwritten:
        said.append(
            "the program overwrote what its littering reported, so it cannot be subtracted: it has a memory "
            "error (valgrind or -fsanitize=address shows where)"
        )
    elif not run.litterings:
        said.append(
            "nothing was littered: the program did not load what is preloaded, or changed its environment "
            "before it started"
        )
    failed = [each for each in run.litterings if each.failure and not each.beside]
    said += [f"process {each.pid} went on with a clean heap: {each.failure}" for each in failed]
    if any(each.beside for each in run.litterings):
        said.append(
            "a thread could not litter its heap while the one that created it waited (its malloc wants a "
            "lock that the other holds): wall time holds this litter, and later threads found clean heaps"
        )
    else:
        said += _absent_threads(litter, run)
    if run.uncounted:
        said.append(not_waited_for(run.uncounted))
    said += mostly_left_out(profile)
    if run.lost:
        said.append(
            f"{units.whole(run.lost)} litterings had no space to report; their cost is not subtracted"
        )
    if strange := _others(allocator, run):
        said.append(f"malloc was not served by {allocator.name} but by {' and '.join(strange)}")
    if run.deepbind and allocator.library:
        said.append(
            f"{program.command[0]} opens extensions with RTLD_DEEPBIND, which would mix the C library's "
            f"blocks with those of {allocator.name}: they were opened without it"
            + (
                "; it may have died of that: run it without them (php -n, for one)"
                if run.outcome.signal
                else ""
            )
        )
    of, image = Path(profile.program).name, Path(program.image).resolve().name
    if profile.program and of != image and profile.processes > 1 and not litter.children:
        said.append(
            f"most was allocated by {of}, which {image} executed, and only {image} was littered: "
            "--litter children=yes litters all"
        )
    elif profile.program and of != image and profile.processes == 1:
        said.append(f"the profile is of {of}, not of {image}: right only if they are variants of one program")
    if program.brings_malloc and allocator.library:
        said.append(f"{program.command[0]} brings its own malloc, which a preload cannot replace")
    return said
