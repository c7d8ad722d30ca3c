"""How far two equal servers of several threads differ in CPU time per request, by how they are paired.

    .venv/bin/python lab/bench/compare/threaded.py [--pairs N] [--threads N] [METHOD...]

memcached with so many threads, loaded by memcslap: pairs of every method in turn, so that all meet the same
machine. Prints for each the standard deviation of a pair (of the logarithm of its ratio), what 30 seconds of
such pairs would leave of it (half of a 95 % CI), and CPU time per request. The machine's load is part of the
result, so it is printed.
"""

import argparse
import math
import os
import shutil
import statistics
import sys
import time

from reap.launch.records import Launch
from reap.server import ready
from reap.server.records import STOP, Served, Service
from reap.server.serve import serve

METHODS = ("sequential", "sliced", "simultaneous")
SECONDS = 30.0


def service(threads: int) -> Service:
    """A start of the server on a free port."""
    (port,) = ready.free_ports(1)
    server = ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-t", str(threads), "-p", str(port)]
    load = [
        *("memcslap", f"--servers=localhost:{port}", "--test=set"),
        *("--concurrency=4", "--execute-number=1000"),
    ]
    return Service(
        server=Launch(argv=server, program=shutil.which(server[0]) or server[0]),
        load=Launch(argv=load, program=shutil.which(load[0]) or load[0]),
        ready=ready.parsed(f"tcp:{port}", has_port=True),
        stop=STOP,
        ready_within=20,
        loads=2,
    )


def pair(method: str, threads: int) -> list[Served]:
    """Two servers that are the same."""
    both = [service(threads), service(threads)]
    if method == "sequential":
        return [served for each in both for served in serve([each], None, None)]
    cores = sorted(os.sched_getaffinity(0))
    return serve(both, None, None) if method == "sliced" else serve(both, cores[-1], cores[0])


def cost(served: Served) -> float:
    """Nanoseconds of CPU time for a request."""
    if served.failure:
        sys.exit(served.failure)
    return served.outcome.cpu_ns / max(1, served.outcome.served)


def main() -> int:
    """Prints a row for each method."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--pairs", type=int, default=8)
    words.add_argument("--threads", type=int, default=4)
    words.add_argument("methods", nargs="*", metavar="METHOD", choices=[*METHODS, []], default=[])
    asked = words.parse_args()
    methods = asked.methods or METHODS
    costs: dict[str, list[tuple[float, float]]] = {method: [] for method in methods}
    seconds = dict.fromkeys(methods, 0.0)
    for _ in range(asked.pairs):
        for method in methods:
            begun = time.monotonic()
            one, other = map(cost, pair(method, asked.threads))
            seconds[method] += time.monotonic() - begun
            costs[method].append((one, other))
    for method in methods:
        spread = statistics.stdev(math.log(other / one) for one, other in costs[method])
        half = 2 * spread / math.sqrt(SECONDS * asked.pairs / seconds[method])
        usual = statistics.median(one for one, _ in costs[method])
        print(
            f"{method:12}  {spread:.1%} a pair, ±{half:.1%} in {SECONDS:g} s, {usual / 1e3:.1f} us a request "
            f"(load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
