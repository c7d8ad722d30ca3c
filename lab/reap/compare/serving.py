"""Starts the arms of an experiment that are servers: each with a load, of which the server's cost is kept."""

import os
from collections.abc import Sequence

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.experiment import arms, naming
from reap.experiment.folder import Folder
from reap.experiment.records import Cell, Pairing
from reap.experiment.starter import Started, Starter
from reap.server import ready
from reap.server.records import Served, Server, Service
from reap.server.serve import serve
from reap.server.service import load_of, service_of

_WATCHED_IDLE = 0.2
"""Seconds in which a server that was warmed up is watched without a load."""


class ServerStarter(Starter):
    """A `Starter` of servers. A load that fails is an error of the baseline, and drops any other arm."""

    def __init__(self, folder: Folder, server: Server) -> None:
        super().__init__(folder)
        self._folder, self._server = folder, server
        self._baseline = arms.arms(folder.spec)[0].arm()
        self.notes: list[str] = []
        """What must be said beside the figures."""

    def start(self, cell: Cell, *, probe: bool) -> Started:
        """Starts and loads it, on any core; a warm-up has one load that counts, to save time."""
        (started,) = self._serve([cell], None, probe=probe)
        return started

    def start_together(self, cells: Sequence[Cell], core: int | None, pairing: Pairing) -> list[Started]:
        """Starts all on one core and loads them at the same time from another, if there is one.

        Without a core, in turns on all.
        """
        del pairing  # what else it says is found by strace, by which no server is watched
        return self._serve(cells, core, probe=False)

    def _serve(self, cells: Sequence[Cell], core: int | None, *, probe: bool) -> list[Started]:
        ports = ready.free_ports(len(cells))
        services = [self._service(cell, port, probe=probe) for cell, port in zip(cells, ports, strict=True)]
        load_core = next((each for each in sorted(os.sched_getaffinity(0)) if each != core), core)
        served = serve(services, core, load_core if core is not None else None)
        return [self._kept(cell, each) for cell, each in zip(cells, served, strict=True)]

    def _service(self, cell: Cell, port: int, *, probe: bool) -> Service:
        name = naming.name(cell, "w" if probe else "r")
        launch = self._launch(cell, self._variants[cell.variant], probe=probe)
        load = load_of(self._server, launch, self._spec.timeout)
        load = msgspec.structs.replace(load, directory=self._spec.directory)
        # The number of loads is planned when the warm-ups have ended.
        server = self._folder.spec.server or self._server
        server = msgspec.structs.replace(server, loads=1) if probe else server
        service = service_of(server, naming.filled(launch, name), naming.filled(load, name), port)
        return msgspec.structs.replace(service, watched_idle=_WATCHED_IDLE) if probe else service

    def _kept(self, cell: Cell, served: Served) -> Started:
        if served.failure and cell.arm() == self._baseline:
            under = "" if self._spec.against else f"under {cell.allocator}, "
            raise ReapError(
                f"{under}the baseline, {served.failure}",
                "run --server and --load by hand first",
                ExitCode.FAILED,
            )
        if served.note and served.note not in self.notes:
            self.notes.append(served.note)
        status = served.outcome.exit_code or int(bool(served.failure))
        return Started(
            outcome=msgspec.structs.replace(served.outcome, exit_code=status, failure=served.failure)
        )
