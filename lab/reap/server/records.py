"""A server under load, as an experiment keeps it: plain data."""

from reap.base.records import Record
from reap.launch.program import Program
from reap.launch.records import Launch, Outcome

PORT = "{port}"
"""In the commands of a server and its load: a free port, another one for each server that runs."""


class Server(Record):
    """How a server is loaded and stopped; its own command is the program of the experiment."""

    ready: str
    """When it can be loaded: `tcp` or `http:PATH`, on `{port}` or on a port of their own."""
    load: Program
    """What makes the load, and ends."""
    stop: int
    """The signal that ends the server."""
    ready_within: float
    """Seconds that one server gets until it is ready."""
    has_port: bool
    """Whether `{port}` is in both commands, so that several servers may run at the same time."""


class Service(Record):
    """One start of a server, with its load."""

    server: Launch
    load: Launch
    port: int
    """That stands for `{port}`, or is named by `ready`."""
    path: str
    """To be had by HTTP once it is ready; empty: a connection is enough."""
    stop: int
    ready_within: float


class Served(Record):
    """What came of a start."""

    outcome: Outcome
    """CPU time and page faults are those of the server's processes over the load alone, wall time is that
    of the load, and peak memory that of the server's largest process from its start to its end."""
    failure: str = ""
    """Why the figures are none, a sentence."""
    note: str = ""
    """What must be said beside them."""
