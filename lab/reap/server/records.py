"""A server under load, as an experiment keeps it: plain data."""

import signal

from reap.base.records import Record
from reap.launch.program import Program
from reap.launch.records import Launch, Outcome

PORT = "{port}"
"""In the commands of a server and its load: a free port, another one for each server that runs."""

LOADS = 3
"""Measured loads of each start where neither the user nor a plan says otherwise."""

MOST_LOADS = 50
"""That a plan has of each start."""

STOP = int(signal.SIGTERM)
"""What ends a server, unless the user says otherwise."""

READY_WITHIN = 10.0
"""Seconds until it is ready, unless the user says otherwise."""


class Ready(Record):
    """Sign that a server is ready: a connection, a page or a line."""

    port: int
    """0: the one that stands for `{port}`."""
    path: str = ""
    """To be had by HTTP; empty: a connection is enough."""
    line: str = ""
    """What is to be in its output; empty: a connection is waited for."""


class Server(Record):
    """Load of a server, and how it is stopped; its own command is the program of the experiment."""

    ready: str
    """When it can be loaded: `tcp` or `http:PATH`, on `{port}` or on a port of their own, or `line:TEXT`."""
    load: Program
    """What makes the load, and ends."""
    stop: int
    """The signal that ends the server."""
    ready_within: float
    """Seconds that one server gets until it is ready."""
    has_port: bool
    """Whether `{port}` is in both commands, so that several servers may run at the same time."""
    loads: int = 0
    """Measured loads of each start; 0: as planned."""
    warm_ups: int = 1
    """Loads of each start before those, which are not measured."""
    requests: int = 0
    """That a load makes; 0: as it says itself, where that is known."""
    planned: int = 0
    """Measured loads of each start by a plan that follows from the warm-ups; 0: no plan yet."""
    cold: int = 0
    """Loads of the first round that warmed the server up still. Later starts have as many more before those
    that are measured, and the first round does not count."""

    @property
    def each_start(self) -> int:
        """Measured loads of each start."""
        return self.loads or self.planned or LOADS

    @property
    def until_warm(self) -> int:
        """Loads of each start before those that are measured, as far as is known."""
        return self.warm_ups + self.cold

    @property
    def left_out(self) -> int:
        """First rounds that do not count, since they only warmed servers up."""
        return 1 if self.cold else 0


class Service(Record):
    """One start of a server, with its load."""

    server: Launch
    load: Launch
    ready: Ready
    """Its port is that which stands for `{port}`, or another one; 0 where none is known."""
    stop: int
    ready_within: float
    loads: int = 1
    """Measured loads; 0: it is loaded once, and nothing is measured."""
    warm_ups: int = 1
    """As in `Server`."""
    requests: int = 0
    """As in `Server`."""
    watched_idle: float = 0.0
    """Seconds after the warm-up in which its CPU time without a load is measured."""


class Served(Record):
    """Outcome of a start."""

    outcome: Outcome
    """CPU time and page faults are those of the server's processes over the measured loads alone, wall time
    is that of the loads, and peak memory that of the server's largest process from its start to its end.
    Without measured loads all of it is that of the server's own life."""
    failure: str = ""
    """Why the figures are none, a sentence."""
    note: str = ""
    """What must be said beside them."""
