"""One run of each variant of a workload: whether it works here, and what it prints is the same."""

from collections.abc import Sequence
from pathlib import Path

from reap.api import Launch, Outcome, ReapError, Record, program, spawn
from reap_studies.workloads import card, preparation
from reap_studies.workloads.records import Card, Ready


class Tried(Record):
    """A variant, and one run of it: a look, and no measurement to build on."""

    variant: str
    outcome: Outcome


def as_the_card_says(described: Card, tried: Sequence[Tried]) -> bool | None:
    """Whether these, at the default scale, print what the card says; None where it says nothing of it.

    Throws ReapError of a program of ours: Debian's may be of another version, ours may not.
    """
    if not described.output:
        return None
    digest = tried[0].outcome.stdout_digest
    if digest != described.output and described.origin.package == "reap":
        raise ReapError(
            f"{described.name} printed other output than its card states ({digest})",
            "the program is wrong here, or was changed: then correct the card's output",
        )
    return digest == described.output


def launch_of(ready: Ready) -> Launch:
    """How it is started. Throws ReapError if it is not there, or nothing can be preloaded into it."""
    found = program.resolve(ready.argv, directory=ready.directory)
    program.require_preloadable(found)
    return Launch(
        argv=found.command,
        program=found.path,
        directory=ready.directory,
        environment=ready.environment,
    )


def try_variants(
    name: str, variants: Sequence[str] = (), *, scale: int | None = None, cache: Path | None = None
) -> list[Tried]:
    """Runs the variants (all that are installed, if none are named) once each, one after another.

    Throws ReapError where one cannot be prepared, fails, or prints what the others do not.
    """
    tried: list[Tried] = []
    described = card.load(name)
    missing = preparation.absent(described, cache=cache)
    every = [*described.variants, *(peer for peer in described.peers if peer not in missing)]
    for variant in variants or every:
        ready = preparation.prepare(name, variant, scale=scale, cache=cache)
        outcome = spawn.run(launch_of(ready))
        if outcome.status != 0:
            raise ReapError(f"{name}, {variant}: ended with {outcome.status}", outcome.stderr_tail.strip())
        if tried and outcome.stdout_digest != tried[0].outcome.stdout_digest:
            raise ReapError(
                f"{name}: {variant} prints other output than {tried[0].variant}",
                "the program or its card is wrong: variants differ in their allocator alone",
            )
        tried.append(Tried(variant=variant, outcome=outcome))
    return tried
