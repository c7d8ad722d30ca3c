"""Scenarios: small programs that have one trouble by construction, and the remedies to try on it."""

from typing import Literal

from reap.api import Record, Residence

VERSION = 1
"""Of the schema of `reap workloads scenario --json`."""


class Remedied(Record):
    """The program with one remedy, or none."""

    name: str
    words: list[str]
    """The program's arguments; `{workers}` is four for two processors, `{twice}` twice as many, `{rate}`
    three quarters of what the first arm answers in a second if the next comes when a worker is free."""
    allocator: str = "glibc"
    environment: dict[str, str] = {}


class Scenario(Record):
    """A problem as a program that can be run."""

    name: str
    title: str
    story: str
    kind: Literal["memory", "requests"]
    """What is measured: resident memory over time, or the rate and times of requests."""
    arms: list[Remedied]
    """The first is the program without a remedy."""
    rounds: int = 1
    """How often each is run, in turn. Memory is the same every time, but for little; times are not."""


class Requests(Record):
    """What a program with requests reports of a surge: callers that were answered before they gave up."""

    requests: int
    seconds: float
    p50_ns: float
    p99_ns: float
    p999_ns: float
    before: float = 0.0
    """Such callers a second before the surge."""
    before_p99_ns: float = 0.0
    retries: int = 0
    """In all."""

    @property
    def rate(self) -> float:
        """Callers a second."""
        return self.requests / self.seconds


class Tried(Record):
    """One remedy's runs."""

    arm: Remedied
    residence: Residence | None = None
    runs: list[Requests] = []
    """By round."""
    skipped: str = ""
    """Why it was not run."""


class Played(Record):
    """A scenario and its results."""

    scenario: Scenario
    tried: list[Tried]
