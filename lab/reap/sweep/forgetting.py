"""Keeps a scheduler's memory bounded however many rounds a sweep has. Runs there; requires `reap[cluster]`.

For its developers Dask keeps the last thousand messages to each worker, tasks included, and for each graph
that is submitted what it was called, as long as the scheduler is busy. Of a thousand workers that is
gigabytes.
"""

from collections import deque
from typing import Any

from dask.typing import Key
from distributed import Scheduler
from distributed.batched import BatchedSend
from distributed.diagnostics.plugin import SchedulerPlugin


class Forgetting(SchedulerPlugin):
    """Has a scheduler forget messages that were sent, and rounds whose sweep is over."""

    name = "reap-sweep"
    idempotent = True  # one serves all sweeps, and stays

    def __init__(self, topic: str) -> None:
        """`topic` begins the names of all tasks of sweeps, and of the topic of each sweep's results."""
        self._topic = topic

    async def start(self, scheduler: Scheduler) -> None:
        """Called when it is registered: for who is there already."""
        for connection in (*scheduler.stream_comms.values(), *scheduler.client_comms.values()):
            _forget(connection)

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Called when a worker has joined."""
        _forget(scheduler.stream_comms[worker])

    def update_graph(self, scheduler: Scheduler, *, tasks: list[Key], **_: Any) -> None:  # noqa: ANN401
        """Called for each block that is submitted."""
        for key in tasks:
            if str(key).startswith(self._topic):
                span = scheduler.extensions["spans"].spans[scheduler.tasks[key].group.span_id]
                span.metadata["collections"].clear()

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """Called when a driver has gone, by a kill too: its last thousand results go as well."""
        scheduler._broker.truncate(f"{self._topic}-{client}")  # noqa: SLF001 - of no public name


def _forget(connection: BatchedSend) -> None:
    connection.recent_message_log = deque(maxlen=0)
