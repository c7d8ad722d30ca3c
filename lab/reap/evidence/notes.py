"""Notes for a reader of the facts of the wall: what could not be seen, and what to do about it."""

import errno
import os

from reap import native
from reap.base.text import signal_name
from reap.launch.records import Launch, Outcome

_NOT_ASKED = errno.ECANCELED


def of_watching(launch: Launch, outcome: Outcome) -> list[str]:
    """Of the run that nothing entered."""
    if outcome.interrupted:
        return ["Ctrl-C ended it: the results cover the time until then"]
    if outcome.signal and not outcome.timed_out:
        return [f"it was ended by {signal_name(outcome.signal)}: the results cover the time until then"]
    if not outcome.timed_out:
        return []
    return [f"it was ended after {launch.timeout:g} s, so the rest of it was not observed"]


def of_counting(outcome: Outcome, counting: Outcome) -> list[str]:
    """Of two runs that should have been the same."""
    if counting.timed_out and not outcome.timed_out:
        return ["the counted run was ended early, so its counts are partial"]
    if counting.status != outcome.status:
        said = f"the counted run ended with {counting.status} and not with {outcome.status}"
        return [f"{said}: its counts describe a different run"]
    return []


STRACE = (
    "system calls were counted with strace, which does not identify the caller: brk, and mappings that look "
    "like malloc's, count as the allocator's, futex as others'"
)

_TOO_MANY_THREADS = (
    "it has more threads than could be watched: only the first of them are in the results; "
    "allow this shell more descriptors (ulimit -n), an event takes one for each thread and processor"
)


def of_sources(seen: native.Watched, calls: native.Watched | None, *, traced: bool = False) -> list[str]:
    """Notes on what was not watched, or not wholly."""
    sources = seen.sources()
    notes = []
    if not sources.ended:
        notes.append("the launcher was ended early; the results cover the time until then")
    samples = sources.samples
    if samples.errno == errno.EMFILE:
        notes.append(_TOO_MANY_THREADS)
    elif samples.errno:
        instead = (
            "where its time goes is not known; watch it as its own user or as root"
            if calls is seen
            else "where time goes is sampled by a timer in the counted run, more coarsely; "
            "sudo sysctl kernel.perf_event_paranoid=1 allows them"
        )
        notes.append(f"perf events are refused here ({os.strerror(samples.errno)}): {instead}")
    elif not sources.sampler_kernel:
        notes.append(
            "time in the kernel was not sampled: sudo sysctl kernel.perf_event_paranoid=1, or run it as root"
        )
    lost = {"samples": samples.lost, "faults": sources.faults.lost}
    notes += [f"{count} {name} were lost: the machine is too busy" for name, count in lost.items() if count]
    if calls is None:
        return notes
    called = calls.sources().calls
    if called.errno and called.errno not in {_NOT_ASKED, errno.EMFILE} and not traced:
        instead = "" if calls is seen else "; --calls counts them by strace instead"
        notes.append(
            f"system calls were not traced ({os.strerror(called.errno)}): it needs root and tracefs "
            f"(mount -t tracefs nodev /sys/kernel/tracing){instead}"
        )
    if called.lost:
        notes.append(f"{called.lost} system calls were lost: their counts are lower bounds")
    return notes
