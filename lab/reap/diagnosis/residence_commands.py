"""The command that comes after a look at resident memory."""

from reap.analysis.residence_records import Residence
from reap.diagnosis.residence import ResidenceVerdict


def after(residence: Residence, verdict: ResidenceVerdict, pid: int | None) -> list[str]:
    """See more, try the remedy, or find out who allocates."""
    if pid is not None:
        return ["reap", "rss", "--", *residence.command]
    if not residence.allocator:
        return ["reap", "rss", "--html", "rss.html", "--", *residence.command]
    for remedy in verdict.remedies:
        under = remedy.allocator or residence.allocator
        if not remedy.allocator and not remedy.environment:
            continue
        setting = [f"{name}={value}" for name, value in remedy.environment.items()]
        chosen = ["--allocator", under] if under not in {"", "glibc"} else []
        return [*(["env", *setting] if setting else []), "reap", "rss", *chosen, "--", *residence.command]
    if verdict.cause in {"live", "other"}:
        return ["reap", "record", "--", *residence.command]
    return ["reap", "compare", "--", *residence.command]
