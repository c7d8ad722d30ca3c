"""Workers of a Dask cluster as a pool. Requires the extra `reap[cluster]`.

Each block is submitted to one worker by name, and a worker has at most two at a time: what the scheduler
holds is bounded by the number of workers, not of blocks (`forgetting`). Results come as events on the
connections that workers have with the scheduler, which costs less than to gather them one by one.
"""

import contextlib
import logging
import queue
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

import reap
from reap.base import packages
from reap.base.errors import ExitCode, ReapError
from reap.base.records import decode
from reap.sweep import staging, worker
from reap.sweep.pool import Ended, Event, Left, Refused, allocators, met
from reap.sweep.records import Block, Facts, Sweep
from reap.sweep.remote import MEASURE, TOPIC, Told, introduce, perform
from reap.sweep.worker import Ask, Work

_CONNECTING = 10.0
"""Seconds to wait for a scheduler."""
_START = f"dask worker ADDRESS --nthreads 1 --resources {MEASURE}=1"
_ANY_PORT = {"dashboard_address": ":0"}
"""Of the scheduler's status page: the usual one may be taken."""
_BATCH = 0.2
"""Seconds in which workers that join are met together."""


class Dask:
    """A pool of the workers of a cluster."""

    depth = 2
    patience = 60.0

    def __init__(
        self,
        client: Any,  # noqa: ANN401 - distributed is optional
        sweep: Sweep,
        expected: int,
        *,
        shared: bool = False,
        work: Work = worker.work,
        ask: Ask = worker.facts,
    ) -> None:
        """`expected` workers are there or were asked for; with `shared` all are on this machine.

        Throws ReapError where the scheduler has no such Reap.
        """
        _bound(client)
        self._client = client
        self._names = allocators(sweep)
        self._files = staging.files(sweep)
        self._expected = expected
        self._shared = shared
        self._work = work
        self._ask = ask
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._joining: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._known: set[str] = set()
        self._joins = threading.Lock()
        self._joined = self._met = 0
        self._futures: dict[tuple[str, str], Any] = {}
        self._begun = time.monotonic()
        # Workers are met on a thread of its own: while they say what they are, the others go on.
        self._meeting = ThreadPoolExecutor(1, thread_name_prefix="reap-meeting")
        client.subscribe_topic(f"{TOPIC}-{client.id}", self._hear)
        client.subscribe_topic("all", self._hear_of_workers)
        self._look()

    def submit(self, address: str, cell: bytes, block: Block) -> None:
        """Submits a block to one worker, and to no other."""
        future = self._client.submit(
            perform,
            self._work,
            self._client.id,
            cell,
            msgspec.json.encode(block),
            key=f"{TOPIC}-{uuid.uuid4().hex}",  # the scheduler keeps what is before the digits for ever
            workers=[address],
            resources={MEASURE: 1},
            pure=False,
        )
        self._futures[address, block.id] = future

    def next(self, seconds: float) -> Event | None:
        """Next event of the cluster, or None. Throws ReapError where the scheduler is gone."""
        try:
            event = self._events.get(timeout=seconds)
        except queue.Empty:
            if self._client.status in ("closed", "closing"):
                raise ReapError(
                    "the scheduler is gone", "start it again, and resume the sweep", ExitCode.FAILED
                ) from None
            if self._joined < self._expected:
                self._look()
            return None
        if isinstance(event, Ended):
            self._futures.pop((event.address, event.block.id), None)
        elif isinstance(event, Left):
            for key in [each for each in self._futures if each[0] == event.address]:
                self._futures.pop(key).cancel()
        return event

    def settled(self) -> bool:
        """Whether as many have joined as were asked for, or it has taken too long."""
        if self._met < self._joined:
            return False
        return self._met >= self._expected or time.monotonic() - self._begun > self.patience

    def close(self) -> None:
        """Hears no more of the cluster."""
        with contextlib.suppress(Exception):  # it may be gone
            self._client.unsubscribe_topic(f"{TOPIC}-{self._client.id}")
            self._client.unsubscribe_topic("all")
        self._meeting.shutdown(wait=False, cancel_futures=True)

    def _hear(self, event: tuple[float, tuple[str, bytes, bool, bytes]]) -> None:
        address, block, run, line = event[1]
        self._events.put(Ended(address, decode(block, Block), run, line))

    def _hear_of_workers(self, event: tuple[float, Any]) -> None:
        match event[1]:
            case {"action": "add-worker", "worker": address}:
                self._join(address)
            case {"action": "remove-worker", "worker": address}:
                self._known.discard(address)
                self._events.put(Left(address))

    def _look(self) -> None:
        """Meets who is there. One that joined before the scheduler had the subscription was never told of."""
        with contextlib.suppress(OSError):  # a scheduler that is gone closes the client
            for address in self._client.scheduler_info(n_workers=-1)["workers"]:
                self._join(address)

    def _join(self, address: str) -> None:
        with self._joins:  # the events come on a thread of the client's
            if address in self._known:
                return
            self._known.add(address)
            self._joined += 1
        self._joining.put(address)
        with contextlib.suppress(RuntimeError):  # it ends
            self._meeting.submit(self._meet)

    def _meet(self) -> None:
        """Meets all workers that wait for it, and gives them what they lack of the plan's files."""
        time.sleep(_BATCH)
        new: list[str] = []
        with contextlib.suppress(queue.Empty):
            while True:
                new.append(self._joining.get_nowait())
        if not new:
            return
        answers: dict[str, Any]
        digests = list(self._files)
        begun = time.time()
        try:
            answers = self._client.run(
                introduce, self._ask, self._names, digests, self._shared, workers=new, on_error="return"
            )
            ended = time.time()
            self._stage(answers)
        except Exception as error:  # noqa: BLE001 - whatever it is, the driver must not wait for them
            answers, ended = dict.fromkeys(new, error), time.time()
        for address in new:
            self._events.put(_judged(address, answers.get(address), begun, ended))
            self._met += 1

    def _stage(self, answers: dict[str, Any]) -> None:
        for digest, path in self._files.items():
            wanting = [
                address
                for address, told in answers.items()
                if isinstance(told, Told) and told.measures and digest in told.lacking
            ]
            if wanting:
                kept = self._client.run(
                    staging.keep, digest, path.read_bytes(), workers=wanting, on_error="return"
                )
                answers.update({at: error for at, error in kept.items() if isinstance(error, Exception)})


def _bound(client: Any) -> None:  # noqa: ANN401 - distributed is optional
    """Has the scheduler of a client keep nothing of rounds that ended. Throws ReapError."""
    from reap.sweep.forgetting import Forgetting

    try:
        client.register_plugin(Forgetting(TOPIC))
    except ImportError as error:
        raise ReapError(
            f"the scheduler cannot use reap {reap.__version__}: {error}",
            "install the same version there, too",
        ) from error


def _judged(address: str, told: Any, begun: float, ended: float) -> Event:  # noqa: ANN401 - what Dask returns
    """Judges whether a worker joins. Its clock was read between `begun` and `ended`."""
    if isinstance(told, ReapError):
        return Refused(f"worker {address}", told.what, told.hint)
    if not isinstance(told, Told):
        said = f"{type(told).__name__}: {told}" if told is not None else "it left"
        return Refused(f"worker {address}", said, f"install reap {reap.__version__} there")
    facts = decode(told.facts, Facts)
    if not told.measures:
        return Refused(facts.worker, f"it has no resource {MEASURE}", f"start it so: {_START}")
    ahead, behind = facts.clock - ended, facts.clock - begun
    return met(address, facts, max(0.0, ahead) + min(0.0, behind))


@contextlib.contextmanager
def scheduler(address: str) -> Iterator[tuple[Any, int]]:
    """A client of a running scheduler, and how many workers that has. Throws ReapError."""
    with client(address) as connected:
        count = len(connected.scheduler_info(n_workers=-1)["workers"])
        if count == 0:
            raise ReapError(f"the scheduler at {address} has no workers", f"on each machine: {_START}")
        yield connected, count


@contextlib.contextmanager
def local(count: int) -> Iterator[tuple[Any, int]]:
    """A cluster of so many processes of this machine, each with cores of its own as far as there are any."""
    made = _distributed().LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        resources={MEASURE: 1},
        memory_limit=None,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address=None,
    )
    with made, client(made) as connected:
        yield connected, count


@contextlib.contextmanager
def ssh(hosts: Sequence[str]) -> Iterator[tuple[Any, int]]:
    """A worker on each host, started by ssh; the scheduler is on the first. Throws ReapError."""
    options = {"nthreads": 1, "resources": {MEASURE: 1}, "memory_limit": 0}
    try:
        made = _distributed().SSHCluster(
            [hosts[0], *hosts], worker_options=options, scheduler_options=_ANY_PORT
        )
    except Exception as error:  # whatever asyncssh throws
        raise ReapError(
            f"no cluster could be started by ssh on {', '.join(hosts)}: {error}",
            f"try `ssh {hosts[0]} {sys.executable} -c 'import reap'`, which must ask for nothing",
        ) from error
    with made, client(made) as connected:
        yield connected, len(hosts)


@contextlib.contextmanager
def jobs(system: str, count: int) -> Iterator[tuple[Any, int]]:
    """So many jobs of a batch system, each a worker, as dask-jobqueue's own settings describe them."""
    made = job_cluster(system)
    with made, client(made) as connected:
        made.scale(jobs=count)
        yield connected, count


def job_cluster(system: str) -> Any:  # noqa: ANN401 - distributed is optional
    """The cluster of a batch system, without any job. Throws ReapError."""
    jobqueue, config = _package("dask_jobqueue"), _package("dask").config
    name = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "lsf": "LSFCluster"}[system]
    arguments = config.get(f"jobqueue.{system}.worker-extra-args", default=None) or []
    try:
        return getattr(jobqueue, name)(
            cores=config.get(f"jobqueue.{system}.cores", default=None) or 1,
            processes=1,
            memory=config.get(f"jobqueue.{system}.memory", default=None) or "4GB",
            scheduler_options=_ANY_PORT,
            worker_extra_args=[*arguments, "--nthreads", "1", "--resources", f"{MEASURE}=1"],
        )
    except Exception as error:  # whatever dask-jobqueue throws
        raise ReapError(
            f"{name} could not be made: {error}", "see jobqueue.yaml in ~/.config/dask"
        ) from error


def require() -> None:
    """Throws ReapError where Dask is not installed."""
    _distributed()


def client(to: Any) -> Any:  # noqa: ANN401 - distributed is optional
    """A client of a cluster, or of the scheduler at an address. Throws ReapError."""
    try:
        return _distributed().Client(to, timeout=_CONNECTING, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ReapError(
            f"no scheduler answers at {to}", f"start one with `dask scheduler`, and on each machine: {_START}"
        ) from error


def _distributed() -> Any:  # noqa: ANN401 - a module
    found = _package("distributed")
    # What it would print of workers that come and go, the driver says in its own words.
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return found


def _package(name: str) -> Any:  # noqa: ANN401 - a module
    wanted = ("asyncssh>=2.14", "dask-jobqueue>=0.9", "distributed>=2025.1")
    return packages.require(name, "a sweep on a cluster", *wanted)
