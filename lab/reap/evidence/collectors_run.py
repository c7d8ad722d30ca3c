"""A run in which a program's garbage collector is heard."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from reap import native
from reap.evidence.analyse import collectors as figures
from reap.evidence.analyse import facts
from reap.evidence.records import Collector
from reap.launch import collectors, spawn
from reap.launch.records import Launch, Outcome


def hear(
    launch: Launch,
    files: Sequence[str],
    functions: Iterable[str],
    say: Callable[[str], None],
    start: Callable[[Launch], Outcome] = spawn.run,
) -> Collector | None:
    """Runs the program once more and says what its collector did; None where it has none that is known.

    `files` are what was mapped in an earlier run, `functions` what was sampled in it. `start` runs it to its
    end. Throws what that throws.
    """
    kind = collectors.kind_of(files, functions)
    if kind is None:
        return None
    say("listening to its garbage collector in another run")
    with collectors.listening(launch, kind, files) as listening:
        outcome = start(listening.launch)
        held = figures.collector(kind, listening.said())
    if held is None:
        return None
    # Parts are of the run in which it was heard: on a busy machine another takes more time, or less.
    return replace(held, of_cpu_seconds=outcome.cpu_ns * 1e-9, of_seconds=outcome.wall_ns * 1e-9)


def with_heard(
    launch: Launch,
    seen: native.Watched,
    sampled: Sequence[Collector],
    say: Callable[[str], None],
    start: Callable[[Launch], Outcome] = spawn.run,
) -> list[Collector]:
    """The collectors of a program that was sampled, `seen`, with what one says of itself in a further run.

    Throws what `start` throws, which runs it to its end.
    """
    functions = [row.function for row in facts.samples(seen)]
    heard = hear(launch, [launch.program, *seen.files()], functions, say, start)
    return facts.with_heard(sampled, heard)
