"""Notes that a reader of a profile must know before believing it."""

import errno
from collections.abc import Sequence

from reap import native
from reap.base import units
from reap.recording.analyse import coverage, unrecorded
from reap.recording.part import limits_of, unreached_at
from reap.recording.records import UnrecordedAllocator

_ENOUGH_SAMPLES = 100
_MUCH_RESIDENT = 16 << 20
"""Below this, code and libraries are a good part of what is resident."""
_SMALL_PART = 0.4
_FEW_STACKS = 0.001
_FEW_WINDOWS = 5
_DEAR = 0.05
"""Of CPU time in windows: what probes took of it, so that twice as much would be seen."""
_FEW_FREES = 100
"""As many may be of blocks from before the recorder."""


def notes(
    recording: native.Recording,
    depth: str,
    own: Sequence[UnrecordedAllocator] = (),
    *,
    beside: bool = False,
) -> list[str]:
    """One sentence for each trouble, the gravest first; none for a sound recording of an ordinary program.

    `own` are the program's allocators whose calls were not recorded. `beside`: as `profile()` takes it.
    """
    header, whole, images = recording.header(), recording.totals(), recording.images()
    unnamed = [*_uncertain(recording.uncertain_modules()), *_refused(recording.refused_maps())]
    if header.attached:
        said = missing(recording, beside=beside)
        return [*said, *unnamed, *_few(images, whole, depth, attached=True), *_oddities(whole)]
    return [
        *missing(recording),
        *unnamed,
        *map(unrecorded.note, own),
        *_sampling(recording.instruction_samples(), header),
        *_few(images, whole, depth),
        *_incomplete(recording.incomplete()),
        *_elsewhere(recording, whole, own),
        *_past_us(images, whole, late=header.lead > 0),
        *_oddities(whole),
    ]


def missing(recording: native.Recording, *, beside: bool = False) -> list[str]:
    """Of these, what says that something was not recorded."""
    header, whole, images = recording.header(), recording.totals(), recording.images()
    held = coverage.coverage(recording, cut(recording))
    return [
        *_attached(header, beside=beside),
        *_part(header),
        *(coverage.missing(held) if held else cut(recording)),
        *_nothing(header, images, whole),
        *_deepbind(header),
        *_unknown_interpreters(recording.unknown_interpreters()),
    ]


def cut(recording: native.Recording) -> list[str]:
    """Notes that the recording is not whole: it was cut short, is damaged, or still goes on."""
    header = recording.header()
    never = [] if header.stop_reason or recording.images() else [_NEVER_LOADED]
    return [*_stopped(header), *_damage(recording.damage()), *_unfinished(header), *never]


_NEVER_LOADED = "No process was recorded: the recorder was never loaded."


_UNNAMED = {
    native.NAMES_OTHER_BUILD: "the file is another build now",
    native.NAMES_CHANGED: "it has no build id, and changed since the recording began",
    native.NAMES_MISSING: "the file is gone",
    native.NAMES_UNREADABLE: "reading its names failed, or took too long",
}
_MOST_MODULES = 3


def _uncertain(modules: list[tuple[str, int]]) -> list[str]:
    """At most one note for modules without names, and one for names that may be false."""
    unnamed = [(coverage.name_of(path), _UNNAMED[why]) for path, why in modules if why in _UNNAMED]
    doubtful = [(coverage.name_of(path), "") for path, why in modules if why == native.NAMES_UNCHECKED]
    said = []
    if unnamed:
        look = "`reap show --resolve` looks for the build that was recorded (--sysroot, --debug-folder)"
        said.append(f"The recording has no names of functions in {_listed(unnamed)}: {look}.")
    if doubtful:
        names = f"Functions of {_listed(doubtful)} have the names that the files have now"
        why = "an earlier version of reap recorded this, which noted no build ids, and they changed since"
        said.append(f"{names}, which may be false: {why}.")
    return said


_REFUSED = {
    native.MAP_FOREIGN: "it is no regular file, or another user's",
    native.MAP_LONG: "it is longer than 256 MiB, of which its beginning was read",
}


def _refused(maps: list[tuple[int, int]]) -> list[str]:
    return [
        f"Functions compiled at run time have no names of /tmp/perf-{pid}.map: {_REFUSED[reason]}."
        for pid, reason in sorted(set(maps))[:1]
        if reason in _REFUSED
    ]


def _listed(modules: list[tuple[str, str]]) -> str:
    more = len(modules) - _MOST_MODULES
    shown = [f"{name} ({why})" if why else name for name, why in modules[:_MOST_MODULES]]
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


_UNKNOWN_CODE = {
    native.UNKNOWN_VERSION: "this version is not known",
    native.UNKNOWN_MEMORY: "its memory does not look as that of this version should",
    native.UNKNOWN_KERNEL: "the kernel does not take the program that reads its frames",
    native.UNKNOWN_ACCESS: "its memory may be read by root alone, or with CAP_SYS_PTRACE",
}


def _unknown_interpreters(found: list[tuple[int, int, int]]) -> list[str]:
    return [
        f"Stacks show the functions of CPython {version >> 24}.{version >> 16 & 255} itself and not "
        f"Python's: {_UNKNOWN_CODE.get(reason, 'of an unknown reason')}."
        for version, reason in sorted({(version, reason) for _, version, reason in found})
    ]


def _seen_from(header: native.Header, *, beside: bool) -> str:
    if not beside:
        whom = "by uprobes from its start" if header.from_start else "from a running process"
        return f"Recorded {whom}"
    since = "the program's start" if header.from_start else "some tenths of a second after it was loaded"
    return f"The allocator was watched by uprobes from {since}"


def _attached(header: native.Header, *, beside: bool) -> list[str]:
    if not header.attached:
        return []
    seen = header.attach
    first = "all figures are estimates from windows of time, and lifetimes and what is in use are not known"
    said = [f"{_seen_from(header, beside=beside)}: {first}."]
    if 0 < seen.windows < _FEW_WINDOWS and seen.window_ns < seen.watched_ns / 2:
        when = f"in {units.number(seen.windows, 'window')}, {units.percent(seen.window_ns / seen.watched_ns)}"
        said.append(f"Calls were seen {when} of the time: sites and sizes are of that part of the run.")
    if seen.slowed:
        most = f"In {seen.slowed} of {seen.windows} windows the probes took nearly all of the CPU time"
        said.append(
            f"{most}, so that the program's own part is not known well: there may be several times as many "
            "calls as shown. Shares of sites and sizes are right."
        )
    if seen.unsampled and seen.cost_ns > _DEAR * seen.window_cpu_ns:
        said.append(
            f"In {seen.unsampled} of {seen.windows} windows the program's own CPU time could not be sampled "
            "(Linux before 5.13, over 128 threads, or addresses that are not randomised): it is estimated by "
            "what a probe cost before, and beside busy processes there may be twice as many calls as shown."
        )
    if seen.lost:
        said.append(f"{seen.lost} samples were lost, as the buffer was full: the others stand for them.")
    if seen.broken:
        said.append(
            f"{seen.broken} stacks are incomplete: deeper than 16 KiB or 160 Python functions, or through "
            "code without unwind tables."
        )
    return said


def _part(header: native.Header) -> list[str]:
    limits = limits_of(header)
    if vain := unreached_at(header.gate, limits):
        return [f"{vain[0].upper()}{vain[1:]}."]
    if not header.lead and header.gate == native.GATE_NONE:
        return []
    kept = limits.last or limits.start
    begin = f"from {units.duration(header.lead)} on ({kept})" if header.lead else "from its start"
    end = (
        f"until {units.duration(header.lead + header.seconds)} ({limits.stop})"
        if limits.stop
        else "to its end"
    )
    said = [f"A part of the run was recorded: {begin}, {end}."]
    if header.lead:
        said.append("Blocks that were allocated before are not in these figures, nor are their frees.")
    if header.lead and limits.is_ring and header.depth == native.TRIAGE:
        said.append("But objects, bytes, sizes and calls are counted from the start of the run.")
    return [" ".join(said)]


def _stopped(header: native.Header) -> list[str]:
    if header.stop_reason == 0:
        return []
    if header.stop_reason == native.STOP_SIZE:
        since = (
            f"From {units.duration(header.stop_seconds)} on events are missing: the file reached --max-size."
        )
        rest = (
            "Objects, bytes, sizes and calls are counted to the end; sites, lifetimes and memory until then."
        )
        return [f"{since} {rest}"]
    why = {
        native.STOP_NO_SPACE: "the file could not grow",
        native.STOP_OPEN: "the file could not be opened again (a changed root or dropped rights do that)",
        native.STOP_SANDBOX: "a process in a sandbox of its own has used up what was reserved before",
        native.STOP_MAP: "there was no memory for a block",
        native.STOP_TRUNCATED: "another program truncated the file",
    }.get(header.stop_reason, "of an unknown reason")
    said = []
    if header.stop_errno:
        said.append(errno.errorcode.get(header.stop_errno, str(header.stop_errno)))
    if header.stop_count:
        said.append(units.number(header.stop_count, "time"))
    details = f" ({'; '.join(said)})" if said else ""
    stopped = f"Recording stopped before the program did: {why}{details}."
    return [f"{stopped} What is shown is what was recorded until then."]


def _damage(damage: native.Damage) -> list[str]:
    said = []
    if damage.corrupt:
        said.append(f"{damage.corrupt} blocks with a wrong checksum were left out")
    if damage.truncated:
        said.append(f"{damage.truncated} blocks are missing at the end of the file")
    if damage.foreign:
        said.append(f"{damage.foreign} blocks are not what they should be")
    if damage.malformed:
        said.append(f"{damage.malformed} blocks hold records that make no sense from some point on")
    return [f"The file is damaged: {'; '.join(said)}. The figures are too low."] if said else []


def _unfinished(header: native.Header) -> list[str]:
    if header.finished:
        return []
    if header.ended:
        return [
            "Some process of the tree still ran when the recording was closed; what it did later is missing."
        ]
    return ["The recording was not closed (reap was killed, or it still runs)."]


def _nothing(header: native.Header, images: list[native.Image], whole: native.Totals) -> list[str]:
    if header.stop_reason or not images:
        return []  # that is said already
    if not any(image.objects for image in images) and not whole.events:
        return ["No allocation was recorded."]
    return []


def _deepbind(header: native.Header) -> list[str]:
    if not header.deepbind:
        return []
    opened = f"{header.deepbind} libraries were to be opened with RTLD_DEEPBIND"
    return [f"{opened}, past the recorder: they were opened without, and are recorded."]


def _sampling(seen: native.InstructionSamples, header: native.Header) -> list[str]:
    if seen.all == 0:
        return ["No instruction pointer was sampled: the share of time is unknown (see `reap doctor`)."]
    if seen.all < _ENOUGH_SAMPLES:
        return [f"Only {seen.all} instruction pointers were sampled: the run is too short for a sharp share."]
    if header.sampler == native.SAMPLER_PERF and not header.sampler_kernel:
        missing = "page faults and system calls of the allocator are not in its share"
        mend = "sudo sysctl kernel.perf_event_paranoid=1"
        return [f"Time in the kernel could not be sampled: {missing} ({mend})."]
    return []


def _few(
    images: list[native.Image], whole: native.Totals, depth: str, *, attached: bool = False
) -> list[str]:
    if depth != "triage" or whole.samples >= _ENOUGH_SAMPLES or not any(image.objects for image in images):
        return []
    few = f"Only {whole.samples} allocations were sampled"
    if attached:
        return [f"{few}, so sites are rough; watch for longer."]
    rough = "too few for shares of sites, and lifetimes and peaks are rough"
    return [f"{few}: {rough}. --depth full counts them all."]


def _incomplete(stacks: native.IncompleteStacks) -> list[str]:
    share = (stacks.ended + stacks.cut) / stacks.all if stacks.all else 0.0
    if share < _FEW_STACKS:
        return []
    ended, cut = (units.percent(part / stacks.all) for part in (stacks.ended, stacks.cut))
    said = f"{units.percent(share)} of the allocations have an incomplete stack"
    jit = "as code compiled at run time is"
    deep = f"{cut} are deeper than 1024 functions, of which the middle is left out"
    return [f"{said}: {ended} end in code without unwind tables, {jit}; {deep}."]


def _elsewhere(
    recording: native.Recording, whole: native.Totals, own: Sequence[UnrecordedAllocator]
) -> list[str]:
    """Resident memory that malloc does not account for is often a pool that hides allocations from us.

    PYTHONMALLOC reaches Python's own pool, and not what allocators with functions of their own have.
    """
    resident = max((size for _, size in recording.resident()), default=0)
    live = whole.in_use.max_bytes
    if resident < _MUCH_RESIDENT or live > resident * _SMALL_PART:
        return []
    share = f"At most {units.size(live)} of {units.size(resident)} resident came from malloc"
    hidden = "pools and heaps of the program's own that map memory themselves are not seen"
    names = [image.executable.rpartition("/")[2] for image in recording.images()]
    python = not own and any(name.startswith("python") for name in names)
    return [f"{share}: {hidden}{' (PYTHONMALLOC=malloc shows its objects)' if python else ''}."]


def _past_us(images: list[native.Image], whole: native.Totals, *, late: bool) -> list[str]:
    objects = sum(image.objects for image in images)
    forked = any(image.flags & native.IMAGE_FORKED for image in images)  # they free their parent's
    if late or forked or whole.frees <= objects * 1.05 + _FEW_FREES:
        return []
    given = f"{whole.frees} blocks were freed, but the recorder saw only {objects} allocated"
    why = "a part of the program calls malloc past it, as one that finds libc's malloc by itself does"
    return [f"{given}: {why}."]


def _oddities(whole: native.Totals) -> list[str]:
    said = []
    if whole.failures:
        said.append(f"{whole.failures} allocations failed.")
    if whole.unmatched_frees:
        said.append(
            f"{whole.unmatched_frees} frees were of blocks that the recorder never saw: allocated in a "
            "parent process, before the recording, or past it."
        )
    if whole.skipped:
        said.append(f"{whole.skipped} calls came from inside the recorder's own work and were only counted.")
    return said
