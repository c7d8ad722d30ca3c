"""What `reap record --pid` costs a server under load. The bar is 1.2 times its CPU time for a request.

.venv/bin/python lab/bench/attached.py [ROUNDS] [redis | python]

Each round starts a redis-server and lets redis-benchmark make the same requests twice, or a server in Python
that answers with JSON: once as it is, once with reap attached for the whole time, in turns first. What counts
is the CPU time of the server, so that other processes and reap's own share of the machine do not. Server and
load share one core, and reap has the others: where two idle cores wake each other, a request costs up to half
as much again, and whether they do changes with whatever else runs.
"""

import contextlib
import math
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

BAR = 1.2

PYTHON_SERVER = """
import json, socket, sys

def item(request, number):
    return dict(request, number=number, name=f"item {number}" * 20)

def answer(line):
    request = json.loads(line)
    return json.dumps([item(request, number) for number in range(100)]).encode() + b"\\n"

def serve(connection):
    for line in connection.makefile("rb"):
        connection.sendall(answer(line))

with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listening:
    while True:
        connection, _ = listening.accept()
        with connection:
            serve(connection)
"""


@dataclass(frozen=True)
class Service:
    """A server, and what makes so many requests to it at a port."""

    command: Callable[[int], list[str]]
    load: Callable[[int], None]
    requests: int


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def server(service: Service, port: int) -> Iterator[int]:
    """The pid of a server that listens."""
    with subprocess.Popen(service.command(port), stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 30
            while not listens(port):
                if time.monotonic() > deadline:
                    raise RuntimeError("the server does not answer")
                time.sleep(0.05)
            yield process.pid
        finally:
            process.terminate()


def listens(port: int) -> bool:
    """Whether a connection is accepted."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def cpu_ns(pid: int) -> int:
    """CPU time of a process until now, its threads together."""
    return time.clock_gettime_ns((~pid << 3) | 2)  # as clock_getcpuclockid makes it


def redis_command(port: int) -> list[str]:
    """Without persistence."""
    return ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"]


def redis_load(port: int) -> None:
    """The requests, half of them writes."""
    number = str(REDIS.requests // 2)
    words = ["redis-benchmark", "-p", str(port), "-n", number, "-r", "100000", "-t", "set,get", "-q"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def python_command(port: int) -> list[str]:
    """One thread, and one connection at a time."""
    return ["/usr/bin/python3", "-c", PYTHON_SERVER, str(port)]


def python_load(port: int) -> None:
    """One after another."""
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answers:
        for number in range(PYTHON.requests):
            connection.sendall(b'{"client": %d}\n' % number)
            answers.readline()


REDIS = Service(redis_command, redis_load, 300_000)
PYTHON = Service(python_command, python_load, 50_000)


def cost(service: Service, pid: int, port: int) -> float:
    """CPU time of the server for a request, in microseconds."""
    before = cpu_ns(pid)
    service.load(port)
    return (cpu_ns(pid) - before) / service.requests / 1000


def attached_cost(service: Service, pid: int, port: int, folder: Path, cores: set[int]) -> float:
    """The same with reap attached, which runs on these cores."""
    reap = Path(sys.executable).with_name("reap")
    file = folder / "server.reap"
    command = [str(reap), "record", "--pid", str(pid), "--seconds", "600", "-f", "-o", str(file)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        os.sched_setaffinity(process.pid, cores)
        while not file.exists() or file.stat().st_blocks < 2:
            time.sleep(0.05)
        time.sleep(1)  # it calibrates itself, and sets its probes
        measured = cost(service, pid, port)
        process.send_signal(signal.SIGINT)
    return measured


def main() -> int:
    """Prints a line for each round; the exit code says whether the bar was held."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it, reap too
    service = PYTHON if "python" in sys.argv[2:] else REDIS
    ratios = []
    first_core, *others = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {first_core})
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        for number in range(rounds):
            port = free_port()
            with server(service, port) as pid:
                os.sched_setaffinity(pid, {first_core})
                service.load(port)  # its tables have grown
                first = cost(service, pid, port) if number % 2 == 0 else 0.0
                attached = attached_cost(service, pid, port, Path(name), set(others or [first_core]))
                alone = first or cost(service, pid, port)
            ratios.append(attached / alone)
            print(
                f"{alone:.2f} us a request alone, {attached:.2f} us attached: {ratios[-1]:.3f}",
                flush=True,
            )
    middle = math.exp(statistics.mean(math.log(ratio) for ratio in ratios))
    print(f"{rounds} rounds: {middle:.3f} times the CPU time, {min(ratios):.3f} to {max(ratios):.3f}")
    return 0 if middle <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
