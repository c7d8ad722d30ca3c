"""Which stage runs next, and on how many cores: one beside another on each core, and one that sleeps."""

from collections.abc import Sequence

from stage import Cores, Stage


def startable(
    waiting: Sequence[Stage], running: Sequence[tuple[Stage, int]], cores: int
) -> tuple[Stage, int] | None:
    """The stage to start now and its cores; None if it is better to wait for one that runs.

    `waiting` is in order of preference, `running` has each stage with the cores that it was given. A stage
    that can use several cores leaves one to every other stage that could start now, so that two builds run
    side by side on two cores, and the last one gets both.
    """
    if any(stage.cores is Cores.ALONE for stage, _ in running):
        return None
    unfinished = {stage.name for stage in waiting} | {stage.name for stage, _ in running}
    ready = [stage for stage in waiting if not unfinished.intersection(stage.after)]
    free = cores - sum(given for _, given in running)
    sleeping = [stage for stage in ready if stage.cores is Cores.NONE]
    if sleeping and not any(stage.cores is Cores.NONE for stage, _ in running):
        return sleeping[0], 0
    shared = [stage for stage in ready if stage.cores in {Cores.ONE, Cores.SEVERAL}]
    if shared and free > 0:
        first = shared[0]
        return first, 1 if first.cores is Cores.ONE else max(1, free - len(shared) + 1)
    alone = [stage for stage in ready if stage.cores is Cores.ALONE]
    if alone and not shared and not running:
        return alone[0], cores
    return None
