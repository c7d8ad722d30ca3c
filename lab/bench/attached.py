"""What `reap record --pid` costs a server under load. The bar is 1.2 times its CPU time for a request.

.venv/bin/python lab/bench/attached.py [ROUNDS]

Each round starts a redis-server and lets redis-benchmark make the same requests twice: once as it is, once
with reap attached for the whole time, in turns first. What counts is the CPU time of redis-server, so that
other processes and reap's own share of the machine do not.
"""

import contextlib
import math
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

REQUESTS = 300_000
BAR = 1.2


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def server(port: int) -> Iterator[int]:
    """The pid of a redis-server without persistence."""
    command = ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 30
            ping = ["redis-cli", "-p", str(port), "ping"]
            while subprocess.run(ping, check=False, capture_output=True).returncode:
                if time.monotonic() > deadline:
                    raise RuntimeError("redis-server does not answer")
                time.sleep(0.05)
            yield process.pid
        finally:
            process.terminate()


def cpu_ns(pid: int) -> int:
    """CPU time of a process until now, its threads together."""
    return time.clock_gettime_ns((~pid << 3) | 2)  # as clock_getcpuclockid makes it


def load(port: int) -> None:
    """The requests, half of them writes."""
    words = [
        "redis-benchmark",
        "-p",
        str(port),
        "-n",
        str(REQUESTS // 2),
        "-r",
        "100000",
        "-t",
        "set,get",
        "-q",
    ]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def cost(pid: int, port: int) -> float:
    """CPU time of the server for a request, in microseconds."""
    before = cpu_ns(pid)
    load(port)
    return (cpu_ns(pid) - before) / REQUESTS / 1000


def attached_cost(pid: int, port: int, folder: Path) -> float:
    """The same with reap attached."""
    reap = Path(sys.executable).with_name("reap")
    file = folder / "redis.reap"
    command = [str(reap), "record", "--pid", str(pid), "--seconds", "600", "-f", "-o", str(file)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while not file.exists() or file.stat().st_blocks < 2:
            time.sleep(0.05)
        time.sleep(1)  # it calibrates itself, and sets its probes
        measured = cost(pid, port)
        process.send_signal(signal.SIGINT)
    return measured


def main() -> int:
    """Prints a line for each round; the exit code says whether the bar was held."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    ratios = []
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        for number in range(rounds):
            port = free_port()
            with server(port) as pid:
                load(port)  # its tables have grown
                first = cost(pid, port) if number % 2 == 0 else 0.0
                attached = attached_cost(pid, port, Path(name))
                alone = first or cost(pid, port)
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
