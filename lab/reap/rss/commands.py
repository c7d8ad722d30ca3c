"""The command that comes after a look at resident memory."""

from collections.abc import Sequence

from reap.rss.judge import ResidenceVerdict
from reap.rss.records import Residence
from reap.rss.verdict.runtimes import OWNED


def after(residence: Residence, verdict: ResidenceVerdict, command: Sequence[str]) -> list[str]:
    """See more, try the remedies, or find out who allocates.

    `command` is what was run, which may have begun the process; none for a process that ran already.
    """
    if not command and verdict.cause == "live":
        return ["reap", "record", "--pid", str(residence.pid)]
    if not command and residence.custom_title:
        return ["reap", "rss", "--pid", str(residence.pid), "--html", "rss.html"]
    if not command:
        tries = ["--try"] if verdict.remedies and residence.last.said else []
        return ["reap", "rss", *tries, "--", *residence.command]
    if not residence.allocator and not residence.last.said:
        return ["reap", "rss", "--html", "rss.html", "--", *command]
    if verdict.remedies:
        chosen = ["--allocator", residence.allocator] if residence.allocator not in {"", "glibc"} else []
        return ["reap", "rss", "--try", *chosen, "--", *command]
    if verdict.cause in {"files", "shared", "written", "stack", "nothing", "copied", *OWNED}:
        return ["reap", "run", "--", *command]  # no allocator changes this memory; it may cost time
    if verdict.cause in {"live", "other"}:
        return ["reap", "record", "--", *command]
    return ["reap", "compare", "--", *command]
