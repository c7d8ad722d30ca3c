"""A run in which a program's garbage collector is heard."""

from reap.analysis import collectors as figures
from reap.analysis.wall_records import Collector
from reap.launch import collectors, spawn
from reap.launch.records import Launch


def hear(launch: Launch, image: str) -> Collector | None:
    """Runs the program once more and says what its collector did; None where it has none that is known.

    `image` is the ELF file that becomes the process. Throws what `spawn.run` throws.
    """
    kind = collectors.kind_of(image)
    if kind is None:
        return None
    with collectors.listening(launch, kind) as listening:
        spawn.run(listening.launch)
        return figures.collector(kind, listening.said())
