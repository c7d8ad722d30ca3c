"""Programs that end otherwise when anything is preloaded: what was counted is of another run then."""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from reap.launch import hung
from reap.launch.records import Launch, Outcome

_REPEATS = 2
"""Runs of each kind that must end alike: a status that varies by itself rarely looks like a refusal."""


@dataclass(frozen=True)
class Refusal:
    """Reason why a program does not bear the recorder, or any preload."""

    why: str
    """A clause."""
    every: bool
    """Whether that is any preload, and not the recorder alone."""


def find(
    launch: Launch, watched: Outcome, counted: Outcome, start: Callable[[Launch], Outcome]
) -> Refusal | None:
    """Return what keeps a program from being recorded; None where its two runs ended alike, or vary anyway.

    `watched` is the run that nothing entered, `counted` the recorded one. Where they differ the program runs
    at most four times more: without any preload, and with one that only looks who serves malloc.
    """
    if watched.timed_out or counted.timed_out or watched.status == counted.status:
        return None
    bare = hung.bare(launch)
    if any(start(bare).status != watched.status for _ in range(_REPEATS)):
        return None
    every = all(start(replace(bare, probe=True)).status != watched.status for _ in range(_REPEATS))
    what = "anything" if every else "the recorder"
    why = f"it ends with status {counted.status} and not {watched.status} when {what} is preloaded into it"
    return Refusal(why, every)
