"""Starts servers, loads all of them at the same time, and stops them; or keeps one under load.

Loads that run at once on one core meet the same disturbances, and so do the servers, which share another
core: see `launch.together`. Every start of a server has an address-space layout of its own.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.launch.records import Outcome
from reap.server import running
from reap.server.records import Served, Service
from reap.server.usage import busiest, busiest_pid

_HINT = "run --server and --load by hand first"


def serve(services: Sequence[Service], core: int | None, load_core: int | None) -> list[Served]:
    """Starts all, loads each to warm it up and then as often as is measured, and stops them.

    The servers share `core`, and the loads `load_core`; without one they run anywhere, and several take turns
    under their loads. Results are in the order given. When it returns or throws, nothing of them is left
    running. Throws ReapError where nothing can be started.
    """
    with contextlib.ExitStack() as stack:
        mark = stack.enter_context(running.nothing_left())
        all_of = [stack.enter_context(running.started(each, core, mark)) for each in services]
        running.await_ready(all_of)
        for _ in range(max(each.warm_ups for each in services)):
            running.load(all_of, load_core, turns=core is None)
        if seconds := max(each.watched_idle for each in services):
            _watch_idle(all_of, seconds)
        begun = time.monotonic_ns()
        for _ in range(max(each.loads for each in services)):
            before = [each.usage() for each in all_of]
            running.load(all_of, load_core, turns=core is None)
            for each, usage_before in zip(all_of, before, strict=True):
                each.add(usage_before)
        for each in all_of:
            each.loading_ns = time.monotonic_ns() - begun
            each.busiest = busiest(each.launcher.process.pid)
        running.stop(all_of)
        return [each.served() for each in all_of]


def _watch_idle(servers: Sequence[running.Running], seconds: float) -> None:
    time.sleep(seconds / 2)  # work that the last load left behind ends
    begun = time.monotonic()
    before = [each.usage().cpu_ns for each in servers]
    time.sleep(seconds / 2)
    for each, cpu_ns in zip(servers, before, strict=True):
        each.idle = (each.usage().cpu_ns - cpu_ns) / 1e9 / (time.monotonic() - begun)


def loaded_once(service: Service) -> Outcome:
    """Starts it, loads it once, and stops it; the outcome is that of the server's whole life.

    Nothing of it is left running. Throws ReapError where the server or the load fails.
    """
    (served,) = serve([msgspec.structs.replace(service, loads=0, warm_ups=1)], None, None)
    if served.failure:
        raise ReapError(served.failure, _HINT, ExitCode.FAILED)
    return served.outcome


@contextlib.contextmanager
def under_load(service: Service) -> Iterator[int]:
    """A server that was loaded once, and is loaded again and again within.

    Yields its process that has used the most CPU time. What runs is ended at the end, whatever happens.
    Throws ReapError where the server or a load fails.
    """
    with running.nothing_left() as mark, running.started(service, None, mark) as server:
        running.await_ready([server])
        running.load([server], None)
        if not server.lives:
            running.stop([server])
            raise _failure(server)
        waking, enough = os.pipe()
        loading = threading.Thread(target=_load_on, args=(server, waking))
        loading.start()
        try:
            yield busiest_pid(server.launcher.process.pid)
        finally:
            os.close(enough)
            loading.join()
            os.close(waking)
            failed = not server.lives
            running.stop([server])
        if failed:
            raise _failure(server)
        server.launcher.result()


def _load_on(server: running.Running, enough: int) -> None:
    while server.lives and not running.readable(enough):
        running.load([server], None, enough)


def _failure(server: running.Running) -> ReapError:
    return ReapError(server.served().failure, _HINT)
