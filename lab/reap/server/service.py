"""One start of a server, made from how it is to be loaded and how its command is launched."""

import msgspec

from reap.launch.records import Launch
from reap.server import ready
from reap.server.records import PORT, Server, Service


def load_of(server: Server, launch: Launch, timeout: float | None) -> Launch:
    """Launch of the load of a server that is launched like that."""
    return Launch(
        argv=server.load.command, program=server.load.path, directory=launch.directory, timeout=timeout
    )


def service_of(server: Server, launch: Launch, load: Launch, port: int) -> Service:
    """A start on a port, which stands for `{port}` in both commands."""
    awaited = ready.parsed(server.ready, has_port=True)
    if not awaited.port and any(PORT in word for word in launch.argv):
        awaited = msgspec.structs.replace(awaited, port=port)
    return Service(
        server=_filled(msgspec.structs.replace(launch, requests=False, timeout=None), port),
        load=_filled(load, port),
        ready=awaited,
        stop=server.stop,
        ready_within=server.ready_within,
        loads=server.each_start,
        warm_ups=server.until_warm,
        requests=server.requests,
    )


def _filled(launch: Launch, port: int) -> Launch:
    return msgspec.structs.replace(launch, argv=[word.replace(PORT, str(port)) for word in launch.argv])
