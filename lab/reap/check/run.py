"""Runs the program, once or until no limit can be exceeded any more."""

from collections.abc import Callable, Sequence
from pathlib import Path

from reap.check.analyse.figures import measured
from reap.check.records import Measured
from reap.launch.records import Launch, Outcome
from reap.recording import record as recording
from reap.recording.read import read


def run(
    launch: Launch,
    path: Path,
    depth: recording.Depth,
    suppress: Sequence[str],
    accept: Sequence[str],
    *,
    runs: int,
    enough: Callable[[list[Measured]], bool],
    say: Callable[[str], None],
) -> tuple[list[Measured], Outcome]:
    """Records the program up to `runs` times, into `path` again and again, until `enough` says so.

    Also ends after a run in which the program fails, which is not among the results. Throws what
    `recording.record` and `recording.read` throw.
    """
    found: list[Measured] = []
    while True:
        outcome = recording.record(launch, path, depth, force=True)
        if outcome.status:
            return found, outcome
        found.append(measured(read(path), suppress, accept))
        if len(found) >= runs or enough(found):
            return found, outcome
        say(f"run {len(found)} exceeds a limit; run {len(found) + 1} of at most {runs}")
