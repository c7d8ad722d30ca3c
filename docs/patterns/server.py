"""The handler of a server in four ways: what a request allocates, and what each pattern leaves of it.

docs/patterns.md explains them; every one gives the same answers.

    python3 server.py PATTERN THREADS ROUNDS <requests     answers of the last round on standard output

SPDX-License-Identifier: MIT
"""

import json
import sys
import threading
from collections.abc import Callable
from heapq import nsmallest

import msgspec  # pip install msgspec


def answer(segment: int, nearest: list[tuple[int, str]]) -> str:
    """The three nearest edges of the segment, on a line."""
    return f"{segment} " + " ".join(f"{pop}={lat}" for lat, pop in nsmallest(3, nearest)) + "\n"


class Manifest:
    """What a request becomes; __slots__ save the dictionary that every object has otherwise."""

    __slots__ = ("edges", "segment", "stream", "tags")

    def read(self, request: bytes) -> None:
        """Fills the object; the dictionary that the parser makes is gone afterwards."""
        parsed = json.loads(request)
        self.stream = parsed["stream_id"]
        self.tags = parsed["tags"]
        self.segment = parsed["segment_seq"]
        self.edges = [(edge["lat_ms"], edge["pop"]) for edge in parsed["edges"]]


def per_request(request: bytes) -> str:
    """A new object for each request."""
    manifest = Manifest()
    manifest.read(request)
    return answer(manifest.segment, manifest.edges)


class SharedPool:
    """Objects to be used again. `list.pop` and `append` are atomic in CPython: no lock is needed."""

    def __init__(self) -> None:
        self._free: list[Manifest] = []

    def take(self) -> Manifest:
        """One that is free, or a new one."""
        try:
            return self._free.pop()
        except IndexError:
            return Manifest()

    def give(self, manifest: Manifest) -> None:
        """Back for the next request."""
        self._free.append(manifest)


pool = SharedPool()


def pool_shared(request: bytes) -> str:
    """One object saved; all that the parser makes is made as before."""
    manifest = pool.take()
    manifest.read(request)
    line = answer(manifest.segment, manifest.edges)
    pool.give(manifest)
    return line


class _Own(threading.local):
    def __init__(self) -> None:
        self.manifest = Manifest()


own = _Own()


def pool_thread(request: bytes) -> str:
    """The same, with an object for each thread."""
    manifest = own.manifest
    manifest.read(request)
    return answer(manifest.segment, manifest.edges)


class Edge(msgspec.Struct, gc=False):
    """One place that serves the segment. It holds no containers: the collector need not know of it."""

    pop: str
    lat_ms: int


class Needed(msgspec.Struct, gc=False):
    """What the answer needs of a request."""

    segment_seq: int
    edges: list[Edge]


decode = msgspec.json.Decoder(Needed).decode


def less(request: bytes) -> str:
    """Only what the answer needs becomes objects: a parser that is told the type skips the rest."""
    needed = decode(request)
    return answer(needed.segment_seq, [(edge.lat_ms, edge.pop) for edge in needed.edges])


PATTERNS = {"per-request": per_request, "pool-shared": pool_shared, "pool-thread": pool_thread, "less": less}


def work(handle: Callable[[bytes], str], requests: list[bytes], rounds: int, out: list[str]) -> None:
    """Answers every request so many times over; leaves the answers of the last round."""
    for _ in range(rounds):
        out[:] = [handle(request) for request in requests]


def main() -> int:
    """The whole program."""
    try:
        name, threads, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
        handle = PATTERNS[name]
    except (IndexError, KeyError, ValueError):
        print(f"usage: server.py {'|'.join(PATTERNS)} THREADS ROUNDS <requests", file=sys.stderr)
        return 2
    requests = sys.stdin.buffer.read().splitlines()
    answers: list[list[str]] = [[] for _ in range(threads)]
    workers = [threading.Thread(target=work, args=(handle, requests, rounds, out)) for out in answers]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.stdout.writelines(answers[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
