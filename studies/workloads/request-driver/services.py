"""A service under a load: what a request costs its processes, and what memory they hold.

    services.py nginx    requests=N
    services.py gunicorn requests=N [max_requests=M]

Starts the service on an address of its own, asks it for N pages, one after another, and stops it. The first
tenth warms it up. The answer is a line of JSON on standard error. What gunicorn serves is in this file, too.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "common")]
from json_requests import document  # noqa: E402 - where it is has been said just now
from load import connected  # noqa: E402

EDGES, REPORT, EVERY, KEPT = 1000, 20, 50, 200
"""Of a document; documents of a report, which every 50th request makes; entries of the cache."""
_cache: collections.deque[bytes] = collections.deque(maxlen=KEPT)
_text = document(EDGES)


def application(environ: dict, start_response: Callable) -> list[bytes]:
    """What gunicorn serves: it parses a document, now and then twenty for a report, and caches a little."""
    number = int(environ["PATH_INFO"].strip("/"))
    read = [json.loads(_text) for _ in range(REPORT if number % EVERY == 0 else 1)]
    _cache.append(b"%600d" % number)
    answer = json.dumps({"number": number, "edges": sum(len(each["edges"]) for each in read)}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]


def nginx(folder: Path, address: str, requests: int) -> tuple[list[str], list[str]]:
    """Its command, and what it is asked for: the site of the workload nginx."""
    subprocess.run([sys.executable, str(HERE.parent / "nginx" / "prepare.py"), str(folder), "10"], check=True)
    config = folder / "nginx.conf"
    config.write_text(config.read_text().replace("ADDRESS", address))
    pages = (folder / "requests.txt").read_text().split()
    command = ["nginx", "-e", "error.log", "-p", str(folder), "-c", "nginx.conf"]
    return command, [pages[number % len(pages)] for number in range(requests)]


def gunicorn(address: str, requests: int, max_requests: int) -> tuple[list[str], list[str]]:
    """The same of one synchronous worker, which is replaced after so many requests; 0: never."""
    command = [
        "gunicorn",
        "--workers",
        "1",
        "--bind",
        address,
        "--chdir",
        str(HERE),
        "--log-level",
        "critical",
    ]
    command += ["--max-requests", str(max_requests)] if max_requests else []
    return [*command, "services:application"], [f"/{number}" for number in range(requests)]


def processes(server: int) -> Iterator[Path]:
    """Those of the server, its first and its children."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    yield from (Path(f"/proc/{each}") for each in (server, *children))


def cpu_ns(server: int) -> int:
    """What its processes took, of those that live."""
    threads = (each for process in processes(server) for each in process.glob("task/*/schedstat"))
    return sum(int(each.read_text().split()[0]) for each in threads)


def resident(server: int) -> int:
    """Of its largest process, in bytes."""
    lines = (line for each in processes(server) for line in (each / "status").read_text().splitlines())
    return max(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def measured(server: int, address: str, pages: list[str]) -> dict[str, float]:
    """Asks for all pages."""
    connection = connected(address)
    early = len(pages) // 10
    warm = (0, 0)
    for number, page in enumerate(pages):
        if number == early:
            warm = cpu_ns(server), resident(server)
        connection.request("GET", page)
        connection.getresponse().read()
    spent = cpu_ns(server) - warm[0]
    return {"per_request_ns": spent / (len(pages) - early), "early": warm[1], "resident": resident(server)}


def main() -> None:
    service, *words = sys.argv[1:]
    said = {key: int(value) for key, value in (word.split("=", 1) for word in words)}
    own = os.getpid()
    address = f"127.{64 + own // 65536 % 64}.{own // 256 % 256}.{own % 256}:8070"
    with tempfile.TemporaryDirectory(prefix="reap-service-") as folder:
        if service == "nginx":
            command, pages = nginx(Path(folder), address, said["requests"])
        else:
            command, pages = gunicorn(address, said["requests"], said.get("max_requests", 0))
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                answer = measured(server.pid, address, pages)
            finally:
                server.terminate()
    print(json.dumps(answer), file=sys.stderr)


if __name__ == "__main__":
    main()
